/**
 * On the real kernel, beside tenants who edit the largest policies that there may be, without end: in which commit a
 * neighbour's default deny comes into force. Commits are counted, and no time is measured.
 */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import type { Committed } from '../../src/agent/committed.ts';
import { compile } from '../../src/compiler/compile.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { parseCidr } from '../../src/model/address.ts';
import type { Rule } from '../../src/model/policy.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import {
  allowNetwork,
  ingressPolicy,
  network,
  podEvent,
  policyEvent,
  tenantPod,
} from '../support/agent/tenants.ts';
import { until } from '../support/until.ts';
import { Netns } from './netns.ts';

const NODE = 'n1';
const DENIES = 12;

let netns: Netns;
let agent: Agent;
let stop: AbortController;
let running: Promise<void>;
/** What each commit was for. */
let commits: (readonly string[])[];
let failures: string[];

beforeEach(() => {
  netns = new Netns();
  [commits, failures, stop] = [[], [], new AbortController()];
  const fail = (_: object, message: string) => void failures.push(message);
  agent = new Agent({
    open: () => netns.run(() => openNftKernel()),
    engine: () => new Incremental(NODE),
    node: NODE,
    log: { debug: () => {}, info: () => {}, warn: fail, error: fail },
    observers: [{ committed: ({ names, ops }: Committed) => void (ops.length > 0 && commits.push(names)) }],
  });
  agent.apply(['good', 'evil', 'wicked'].flatMap(namespace => [pod(namespace, 1), pod(namespace, 2)]));
  running = agent.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await running;
  netns.close();
});

const pod = (namespace: string, n: number) => podEvent(tenantPod(namespace, n));

const policy = (name: `${string}/${string}`, rules: readonly Rule[]) =>
  policyEvent(ingressPolicy(name, rules));

/** A thousand rules, each with a port and networks of its own. */
const manyRules = (version: number): Rule[] =>
  Array.from({ length: 1000 }, (_, n) => allowNetwork(n, 1000 + n, network(n + version)));

/** One network with thousands of exceptions. */
const manyExcepts = (version: number): Rule[] => {
  const except = Array.from({ length: 4900 }, (_, n) => network(n + version));
  return [
    {
      path: 'ingress[0]',
      action: 'accept',
      peers: [{ kind: 'network', cidr: parseCidr('172.0.0.0/8')!, except }],
      ports: 'any',
    },
  ];
};

test('a neighbour’s deny is in the commit after the one under way, and in no commit with a large policy', async () => {
  await expect.poll(() => commits.length, { timeout: 10_000 }).toBeGreaterThan(0);
  let editing = true;
  let edits = 0;
  const tenants = (async () => {
    for (let version = 0; editing; version++) {
      agent.apply([policy('evil/rules', manyRules(version))]);
      agent.apply([policy('wicked/excepts', manyExcepts(version))]);
      edits++;
      await setTimeout(100); // As often as that: without a pause nobody else in this process has a turn.
    }
  })();
  const places: number[] = [];
  for (let n = 0; n < DENIES; n++) {
    const edited = edits;
    await until('two more edits of the tenants', () => edits >= edited + 2);
    const before = commits.length;
    agent.apply([policy(`good/deny-${n}`, [])]);
    const name = `NetworkPolicy good/deny-${n}`;
    await expect.poll(() => commits.flat().includes(name), { timeout: 30_000, interval: 5 }).toBe(true);
    const place = commits.slice(before).findIndex(names => names.includes(name));
    places.push(place);
    expect(commits[before + place]!.filter(other => !other.includes('good/'))).toEqual([]);
  }
  editing = false;
  await tenants;
  expect(places.filter(place => place > 1)).toEqual([]);
  for (const name of ['evil/rules', 'wicked/excepts'])
    expect(commits.filter(names => names.includes(`NetworkPolicy ${name}`)).length).toBeGreaterThan(1);
  await everythingIsProgrammed();
  expect(failures).toEqual([]);
}, 300_000);

async function everythingIsProgrammed(): Promise<void> {
  const kernel = await netns.run(() => openNftKernel());
  const difference = async () => plan((await kernel.dump()).ruleset, compile(agent.cluster, NODE)).length;
  await expect.poll(difference, { timeout: 20_000, interval: 100 }).toBe(0);
  kernel.close();
}
