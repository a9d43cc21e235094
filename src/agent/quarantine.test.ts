/** The agent over a kernel that refuses the rules of chosen policies: all other policies are programmed. */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  allowPods,
  allowPort,
  ingressPolicy,
  policyEvent,
  tenantPod,
} from '../../test/support/agent/tenants.ts';
import { FakeKernel } from '../../test/support/kernel/fake.ts';
import { compile } from '../compiler/compile.ts';
import { Incremental } from '../compiler/live/incremental.ts';
import type { Limits } from '../compiler/live/limits.ts';
import { type ClusterEvent, ClusterState } from '../model/cluster.ts';
import type { Policy, PolicyId } from '../model/policy.ts';
import { isQuarantined, type LastingStatus } from '../model/policystatus.ts';
import type { PodSelector } from '../model/selector.ts';
import { type Kernel, KernelError } from '../nft/kernel.ts';
import { type Op, opText } from '../nft/plan/op.ts';
import { plan } from '../nft/plan/plan.ts';
import { isolated } from './admission/change.ts';
import { Agent } from './agent.ts';

/** Allows one port for each policy; the kernel of these tests refuses every operation that mentions this one. */
const BAD_PORT = 666;

const pod = (n: number, namespace: string) => tenantPod(namespace, n, { labels: { app: `a${n}` } });

function policy(
  namespace: string,
  name: string,
  { port = 80, app }: { port?: number; app?: string } = {},
): Policy {
  const requirements = app === undefined ? [] : [{ key: 'app', operator: 'In', values: [app] } as const];
  return ingressPolicy(`${namespace}/${name}`, [allowPort(port)], requirements);
}

const appIs = (value: string): PodSelector => ({
  namespaces: { kind: 'name', name: 'dddd' },
  pods: { requirements: [{ key: 'app', operator: 'In', values: [value] }] },
});

const gone = (id: PolicyId): ClusterEvent => ({ type: 'policy', key: id });

class Site {
  readonly fake = new FakeKernel({ owners: true });
  readonly told = new ClusterState();
  readonly log: string[] = [];
  readonly stop = new AbortController();
  readonly agent: Agent;
  attempts = 0;
  commitMs = 0;
  quarantined: readonly PolicyId[] = [];
  running: Promise<unknown> | undefined;

  constructor({
    names = true,
    isBad = isBadPort as (op: Op) => boolean,
    limits = {} as Partial<Limits>,
  } = {}) {
    const line = (_: object, message: string) => void this.log.push(message);
    this.agent = new Agent({
      open: async () =>
        refusing(
          this.fake.another(),
          op => isBad(op),
          names,
          () => this.#delay(),
        ),
      engine: stagesPrepared =>
        new Incremental('n1', 'allow', 'others', undefined, { stagesPrepared, ...limits }),
      node: 'n1',
      log: { debug: line, info: line, warn: line, error: line },
      observers: [
        {
          policyStatuses: (list: readonly LastingStatus[]) => {
            this.quarantined = list.filter(isQuarantined).map(({ id }) => id);
          },
        },
      ],
    });
  }

  async #delay(): Promise<void> {
    this.attempts++;
    if (this.commitMs > 0) await new Promise(resolve => setTimeout(resolve, this.commitMs));
  }

  note(...events: ClusterEvent[]): void {
    for (const each of events) this.told.apply(each);
    this.agent.apply(events);
  }

  run(): this {
    this.running = this.agent.run(this.stop.signal);
    return this;
  }

  /**
   * Steps from the programmed rules to the desired ones, with the policies of `isolates` in their isolating form and
   * those of `instead` in place of others.
   */
  async difference(isolates: readonly PolicyId[] = [], instead: readonly Policy[] = []): Promise<Op[]> {
    const wanted = new ClusterState();
    for (const value of this.told.pods.values()) wanted.apply({ type: 'pod', key: value.key, value });
    for (const value of this.told.policies.values())
      wanted.apply(policyEvent(isolates.includes(value.id) ? isolated(value) : value));
    for (const value of instead) wanted.apply(policyEvent(value));
    return plan((await this.fake.dump()).ruleset, compile(wanted, 'n1'));
  }
}

function isBadPort(op: Op): boolean {
  return op.op === 'addElements' && op.elements.some(([key]) => key.endsWith(` ${BAD_PORT}`));
}

function refusing(
  kernel: Kernel,
  isBad: (op: Op) => boolean,
  names: boolean,
  count: () => Promise<void>,
): Kernel {
  return {
    missingFeatures: kernel.missingFeatures,
    dump: () => kernel.dump(),
    generation: () => kernel.generation(),
    owner: () => kernel.owner(),
    commit: async (ops, expected) => {
      const bad = ops.find(isBad);
      if (ops.length > 0) await count();
      if (bad !== undefined)
        throw new KernelError(
          'EINVAL',
          `EINVAL: ${opText(bad)}: as the test wants it`,
          names ? { op: bad } : {},
        );
      return kernel.commit(ops, expected);
    },
    close: () => kernel.close(),
  };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

let site: Site;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] });
});

afterEach(async () => {
  site.stop.abort();
  await pass(1);
  await site.running;
  vi.useRealTimers();
});

const NAMESPACES = ['a', 'bb', 'ccc', 'dddd'];

function populate(to: Site): void {
  for (const namespace of NAMESPACES)
    for (let n = 1; n <= 3; n++)
      to.note({ type: 'pod', key: `${namespace}/p${n}`, value: pod(n, namespace) });
}

test.each([true, false])(
  'on a fresh kernel everybody else is programmed at once, and who is to blame isolates (object named: %s)',
  async names => {
    site = new Site({ names });
    populate(site);
    for (const namespace of NAMESPACES) site.note(policyEvent(policy(namespace, 'web')));
    const bad = policy('bb', 'bad', { port: BAD_PORT, app: 'a1' });
    site.note(policyEvent(bad));
    site.run();
    await pass(2000);
    expect(site.quarantined).toEqual([bad.id]);
    expect(await site.difference([bad.id])).toEqual([]);
    expect(site.log.filter(line => line.startsWith('quarantine:'))).toEqual([
      expect.stringMatching(
        /^quarantine: NetworkPolicy bb\/bad: the kernel refuses its rules \(EINVAL: .*\); it isolates the pods that it selects and allows nothing until it changes$/,
      ),
    ]);
  },
);

test('a policy that is audited is not refused; enforced it isolates, and audited again it does nothing', async () => {
  site = new Site();
  populate(site);
  site.note(policyEvent(policy('a', 'web')));
  const bad = policy('bb', 'bad', { port: BAD_PORT, app: 'a1' });
  site.note(policyEvent({ ...bad, audited: true }));
  site.run();
  await pass(2000);
  expect([site.quarantined, await site.difference()]).toEqual([[], []]);
  site.note(policyEvent(bad));
  await pass(2000);
  expect([site.quarantined, await site.difference([bad.id])]).toEqual([[bad.id], []]);
  site.note(policyEvent({ ...bad, audited: true }));
  await pass(60_000);
  expect([site.quarantined, await site.difference()]).toEqual([[], []]);
});

test('an audited policy beside one that is refused, by nobody knows what, stays audited', async () => {
  site = new Site({ names: false });
  populate(site);
  const audited = { ...policy('a', 'tried'), audited: true } as const;
  const bad = policy('bb', 'bad', { port: BAD_PORT, app: 'a1' });
  for (const each of [audited, bad]) site.note(policyEvent(each));
  site.run();
  await pass(60_000);
  expect(site.quarantined).toEqual([bad.id]);
  expect([...site.agent.cluster.audited!.keys()]).toEqual([audited.id]);
});

test('the base is committed first and alone, and whatever becomes of policies, it is in force', async () => {
  site = new Site({ isBad: op => op.op === 'addChain' && /^(in|eg|cp)-/.test(op.chain) });
  populate(site);
  site.note(policyEvent(policy('a', 'web')));
  site.run();
  await pass(50);
  const { ruleset } = await site.fake.dump();
  expect([...ruleset.tables.get('ip')!.chains.keys()]).toContain('forward');
});

test.each([true, false])(
  'what goes ahead of a policy is refused: it is to blame, and nobody else is suspected (object named: %s)',
  async names => {
    const touched: string[] = [];
    const isBad = (op: Op) => {
      if (opText(op).includes('/web')) touched.push(opText(op));
      return isBadPort(op);
    };
    site = new Site({ names, isBad, limits: { mostLookups: 20 } }); // a group in each flush
    populate(site);
    for (const namespace of NAMESPACES) site.note(policyEvent(policy(namespace, 'web')));
    site.run();
    await pass(1000);
    touched.splice(0);
    const ports = Array.from({ length: 400 }, (_, n) => allowPort(1000 + n));
    const peers = Array.from({ length: 10 }, (_, n) => allowPods(1000 + n, [appIs(`a${n}`)]));
    const large = ingressPolicy('dddd/large', [...ports, ...peers, allowPort(BAD_PORT)]);
    site.note(policyEvent(large));
    await pass(5000);
    expect(site.quarantined).toEqual([large.id]);
    expect(await site.difference([large.id])).toEqual([]);
    expect(touched.filter(text => !text.includes('dddd/'))).toEqual([]);
  },
);

test('where its last good version was in force, that stays, and others go on', async () => {
  site = new Site();
  populate(site);
  const good = policy('a', 'web');
  site.note(policyEvent(good));
  site.run();
  await pass(1000);
  site.note(policyEvent(policy('a', 'web', { port: BAD_PORT })));
  site.note(policyEvent(policy('bb', 'neighbour')));
  await pass(2000);
  expect(site.quarantined).toEqual([good.id]);
  expect(await site.difference([], [good])).toEqual([]);
  site.note(policyEvent(policy('ccc', 'later')));
  await pass(1000);
  expect(await site.difference([], [good])).toEqual([]);
});

test('a policy leaves the quarantine when it is mended, and when it is gone', async () => {
  site = new Site();
  populate(site);
  const bad = [policy('a', 'one', { port: BAD_PORT }), policy('bb', 'two', { port: BAD_PORT })];
  for (const each of bad) site.note(policyEvent(each));
  site.run();
  await pass(5000);
  expect(site.quarantined.toSorted()).toEqual(bad.map(({ id }) => id));
  site.note(policyEvent(policy('a', 'one')), gone(bad[1]!.id));
  await pass(5000);
  expect(site.quarantined).toEqual([]);
  expect(await site.difference()).toEqual([]);
  expect(site.log).toContain('quarantine: NetworkPolicy a/one has left it, its rules are in force');
  expect(site.log).toContain('quarantine: NetworkPolicy bb/two is gone');
});

test('an edit that comes while a policy is tried is programmed after it', async () => {
  site = new Site();
  populate(site);
  site.note(policyEvent(policy('a', 'one', { port: BAD_PORT })));
  site.run();
  await pass(5000);
  site.commitMs = 100;
  site.note(policyEvent(policy('a', 'one', { port: 80 })));
  while (site.agent.cluster.policies.get('NetworkPolicy a/one')?.ingress?.length !== 1) await pass(10);
  site.note(policyEvent(policy('a', 'one', { port: 81 })));
  await pass(5000);
  expect(site.quarantined).toEqual([]);
  expect(await site.difference()).toEqual([]);
});

test('a policy is tried again although it does not change: the reason may have gone', async () => {
  let refuses = true;
  site = new Site({ isBad: op => refuses && isBadPort(op) });
  populate(site);
  const bad = policy('a', 'one', { port: BAD_PORT });
  site.note(policyEvent(bad));
  site.run();
  await pass(5000);
  expect(site.quarantined).toEqual([bad.id]);
  refuses = false;
  await pass(60_000);
  expect(site.quarantined).toEqual([]);
  expect(await site.difference()).toEqual([]);
});

test('a tenant who edits a refused policy without end is tried ever more rarely, and holds nobody up', async () => {
  site = new Site();
  populate(site);
  site.run();
  await pass(1000);
  site.attempts = 0;
  for (let n = 0; n < 600; n++) {
    site.note(policyEvent({ ...policy('a', 'evil', { port: BAD_PORT }), order: n }));
    await pass(100);
  }
  expect(site.attempts).toBeLessThan(20);
  site.note(policyEvent(policy('bb', 'neighbour')));
  await pass(200);
  expect(await site.difference(['NetworkPolicy a/evil'])).toEqual([]);
});

test('a class whose chains cannot be made ends no agent: the policy that changed is left out', async () => {
  site = new Site();
  const broken = policy('a', 'broken');
  const [rule] = broken.ingress!;
  populate(site);
  site.note(policyEvent(policy('bb', 'neighbour')));
  site.run();
  await pass(1000);
  // No decoder lets such a policy pass; it represents any fault of the compiler.
  site.note(
    policyEvent({ ...broken, ingress: [{ ...rule!, ports: [{ kind: 'range' } as never, null as never] }] }),
  );
  site.note(policyEvent(policy('ccc', 'later')));
  await pass(5000);
  expect(site.quarantined).toEqual([broken.id]);
  expect(await site.difference([broken.id])).toEqual([]);
});

test('a kernel that refuses everything is tried again and again, and then all rules are in force', async () => {
  let refuses = true;
  site = new Site({ isBad: () => refuses });
  populate(site);
  for (const namespace of NAMESPACES) site.note(policyEvent(policy(namespace, 'web')));
  site.run();
  await pass(20_000);
  refuses = false;
  await pass(120_000);
  expect(site.quarantined).toEqual([]);
  expect(await site.difference()).toEqual([]);
});

test('whichever policies are refused, all others are programmed and those alone are in quarantine', async () => {
  const one = fc.record({
    namespace: fc.constantFrom(...NAMESPACES),
    name: fc.constantFrom('p', 'q', 'r', 's'),
    port: fc.constantFrom(80, 81, BAD_PORT),
    app: fc.option(fc.constantFrom('a1', 'a2', 'a3'), { nil: undefined }),
  });
  const toPolicy = ({
    namespace,
    name,
    port,
    app,
  }: {
    namespace: string;
    name: string;
    port: number;
    app?: string | undefined;
  }) => policy(namespace, name, { port, ...(app !== undefined && { app }) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(one, { maxLength: 12 }),
      fc.array(one, { maxLength: 6 }),
      fc.boolean(),
      async (first, later, names) => {
        site = new Site({ names });
        populate(site);
        site.note(...first.map(each => policyEvent(toPolicy(each))));
        site.run();
        await pass(later.length === 0 ? 0 : 150);
        for (const each of later) {
          site.note(policyEvent(toPolicy(each)));
          await pass(70);
        }
        await pass(200_000);
        const refused = [...site.told.policies.values()].filter(({ ingress }) =>
          JSON.stringify(ingress).includes(String(BAD_PORT)),
        );
        expect(site.quarantined.toSorted()).toEqual(refused.map(({ id }) => id).toSorted());
        for (const value of site.told.policies.values())
          if (!refused.includes(value)) expect(site.agent.cluster.policies.get(value.id)).toBe(value);
        for (const { id } of refused)
          expect(JSON.stringify(site.agent.cluster.policies.get(id)?.ingress)).not.toContain(
            String(BAD_PORT),
          );
        const { ruleset } = await site.fake.dump();
        expect(plan(ruleset, compile(site.agent.cluster, 'n1'))).toEqual([]);
        site.stop.abort();
        await pass(1);
        await site.running;
      },
    ),
    { numRuns: 60 },
  );
}, 180_000);
