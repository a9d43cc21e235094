/** A rule that the real kernel refuses, in the policy of one tenant: everybody else's are programmed. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { isolated } from '../../src/agent/admission/change.ts';
import { Agent } from '../../src/agent/agent.ts';
import type { Engine } from '../../src/agent/engine.ts';
import { compile } from '../../src/compiler/compile.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { parseAddress, parseCidr } from '../../src/model/address.ts';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import type { Policy, PolicyId } from '../../src/model/policy.ts';
import type { PolicyChange } from '../../src/model/policychange.ts';
import { isQuarantined, type LastingStatus } from '../../src/model/policystatus.ts';
import { KernelError } from '../../src/nft/kernel.ts';
import { addressInNetwork, verdict } from '../../src/nft/match.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { type Chain, mapTables, type NftRule, type Ruleset, type Table } from '../../src/nft/ruleset.ts';
import { hasted } from '../support/agent/hasted.ts';
import { allowPort, ingressPolicy, podEvent, policyEvent, tenantPod } from '../support/agent/tenants.ts';
import { withoutSizes } from '../support/oracle/withoutsizes.ts';
import { Netns } from './netns.ts';

const NODE = 'n1';
/** Whose rules become ones that the kernel refuses. */
const EVIL_PORT = 666;

let netns: Netns;
let site: Site;

beforeEach(() => {
  netns = new Netns();
});

afterEach(async () => {
  await site.end();
  netns.close();
});

/** Matches one network again and again, until the kernel has no room for the rule. */
const oversized = (network: string, times: number) => ({
  exprs: [
    ...Array.from({ length: times }, () => addressInNetwork(parseCidr(network)!, 'saddr')).flat(),
    verdict('accept'),
  ],
});

/** By what the kernel says of them. */
const OVERSIZED = { EINVAL: oversized('10.0.0.0/8', 100), EFBIG: oversized('fd00::/9', 40) };

/** What a compiler would be that makes rules which no kernel takes. */
class CarelessEngine implements Engine {
  readonly #incremental = new Incremental(NODE);
  readonly #rule: NftRule;

  constructor(rule: NftRule) {
    this.#rule = rule;
  }

  get cluster() {
    return this.#incremental.cluster;
  }

  apply(event: ClusterEvent): void {
    this.#incremental.apply(event);
  }

  isStaged(op?: Parameters<Engine['isStaged']>[0]): boolean {
    return this.#incremental.isStaged(op);
  }

  policiesBehind(op: Parameters<Engine['policiesBehind']>[0]): readonly PolicyId[] {
    return this.#incremental.policiesBehind(op);
  }

  waitingPods(): ReturnType<Engine['waitingPods']> {
    return this.#incremental.waitingPods();
  }

  prepare(changes: readonly PolicyChange[]): void {
    this.#incremental.prepare(changes);
  }

  countLookedAt(change: PolicyChange): number {
    return this.#incremental.countLookedAt(change);
  }

  isOversized(namespace: string): boolean {
    return this.#incremental.isOversized(namespace);
  }

  isPrepared(change: PolicyChange): boolean {
    return this.#incremental.isPrepared(change);
  }

  takeRefused(): readonly Policy[] {
    return this.#incremental.takeRefused();
  }

  *flushInPieces(): Generator<void, Ruleset> {
    const flushed = yield* this.#incremental.flushInPieces();
    return mapTables(flushed, table => withOversized(table, this.#rule));
  }
}

function withOversized(table: Table, rule: NftRule): Table {
  const evil = [...table.sets.values()].filter(({ elements }) =>
    [...elements.keys()].some(key => key.endsWith(` ${EVIL_PORT}`)),
  );
  const names = new Set(evil.map(({ name }) => name));
  const isEvil = ({ rules }: Chain) =>
    rules.some(({ exprs }) => exprs.some(expr => expr.kind === 'lookup' && names.has(expr.set)));
  const chains = [...table.chains].map(([name, chain]): [string, Chain] => [
    name,
    isEvil(chain) ? { ...chain, rules: [rule, ...chain.rules] } : chain,
  ]);
  return { ...table, chains: new Map(chains) };
}

class Site {
  readonly log: string[] = [];
  readonly told = new ClusterState();
  quarantined: readonly PolicyId[] = [];
  readonly #stop = new AbortController();
  readonly #agent: Agent;
  readonly #running: Promise<void>;

  constructor(events: readonly ClusterEvent[] = [], rule: NftRule = OVERSIZED.EINVAL) {
    const line = (_: object, message: string) => void this.log.push(message);
    this.#agent = new Agent({
      open: () => netns.run(() => openNftKernel()),
      engine: () => new CarelessEngine(rule),
      node: NODE,
      log: { debug: line, info: line, warn: line, error: line },
      timing: hasted(10),
      patienceMs: 30_000,
      observers: [
        {
          policyStatuses: (list: readonly LastingStatus[]) => {
            this.quarantined = list.filter(isQuarantined).map(({ id }) => id);
          },
        },
      ],
    });
    this.note(...events);
    this.#running = this.#agent.run(this.#stop.signal);
  }

  note(...events: ClusterEvent[]): void {
    for (const event of events) this.told.apply(event);
    this.#agent.apply(events);
  }

  /** Until the kernel holds what was told, with these policies instead of what was told of them. */
  async programmed(...instead: readonly Policy[]): Promise<void> {
    const wanted = new ClusterState();
    for (const [key, value] of this.told.pods) wanted.apply({ type: 'pod', key, value });
    for (const value of [...this.told.policies.values(), ...instead])
      wanted.apply({ type: 'policy', key: value.id, value });
    const desired = compile(wanted, NODE);
    const kernel = await netns.run(() => openNftKernel());
    try {
      const difference = async () => plan(withoutSizes((await kernel.dump()).ruleset), desired).length;
      await expect.poll(difference, { timeout: 20_000, interval: 20 }).toBe(0);
    } finally {
      kernel.close();
    }
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

function pod(namespace: string, n: number): ClusterEvent {
  const { addresses, ...rest } = tenantPod(namespace, n);
  return podEvent({ ...rest, addresses: [...addresses, parseAddress(`fd00::${namespace.length}:${n}`)!] });
}

const policy = (name: `${string}/${string}`, port: number) =>
  policyEvent(ingressPolicy(name, [allowPort(port)]));

const PODS = ['a', 'bb', 'ccc'].flatMap(namespace => [pod(namespace, 1), pod(namespace, 2)]);
const EVIL = policy('bb/evil', EVIL_PORT);

test.each(Object.entries(OVERSIZED))(
  'the kernel refuses the rule, by %s, and names it',
  async (code, rule) => {
    site = new Site();
    await site.programmed();
    await site.end(); // the tables are its own until then
    const kernel = await netns.run(() => openNftKernel());
    const refused = kernel.commit([
      { op: 'addChain', family: 'ip', chain: 'big' },
      { op: 'addRule', family: 'ip', chain: 'big', rule },
    ]);
    const error = await refused.then(
      () => undefined,
      error => error,
    );
    kernel.close();
    expect(error).toBeInstanceOf(KernelError);
    expect(error).toMatchObject({ code, op: { op: 'addRule' } });
  },
);

test.each(Object.entries(OVERSIZED))(
  'on a fresh kernel that says %s everybody else is programmed, and the tenant’s pods are isolated until it is mended',
  async (_, rule) => {
    site = new Site([...PODS, policy('a/web', 80), EVIL, policy('ccc/web', 81)], rule);
    await site.programmed(isolated(EVIL.value));
    expect(site.quarantined).toEqual([EVIL.value.id]);
    expect(site.log.filter(line => line.startsWith('quarantine:'))).toEqual([
      expect.stringContaining('quarantine: NetworkPolicy bb/evil: the kernel refuses its rules'),
    ]);
    site.note(policy('bb/evil', 82));
    await site.programmed();
    await expect.poll(() => site.quarantined).toEqual([]);
  },
);

test('beside rules in force the last good version stays, and a neighbour’s changes go on', async () => {
  const good = policy('bb/evil', 80);
  site = new Site([...PODS, good, policy('a/web', 80)]);
  await site.programmed();
  site.note(EVIL);
  await site.programmed(good.value);
  for (let port = 81; port < 86; port++) {
    site.note(policy('a/web', port), policy(`ccc/web-${port}`, port));
    await site.programmed(good.value);
  }
  expect(site.quarantined).toEqual([EVIL.value.id]);
  site.note({ type: 'policy', key: EVIL.value.id });
  await site.programmed();
});

test('an agent that starts over rules in force finds who is to blame among hundreds', async () => {
  const many = Array.from({ length: 300 }, (_, n) => policy(`${['a', 'ccc'][n % 2]}/p${n}`, 1000 + n));
  site = new Site([...PODS, ...many]);
  await site.programmed();
  await site.end();
  site = new Site([...PODS, ...many, EVIL]);
  await site.programmed(isolated(EVIL.value));
  await expect.poll(() => site.quarantined).toEqual([EVIL.value.id]);
});
