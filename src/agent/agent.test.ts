/** The loop on the fake kernel, by a clock that the tests turn. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeKernel } from '../../test/support/kernel/fake.ts';
import { parseAddress } from '../model/address.ts';
import { type Cluster, type ClusterEvent, ClusterState, type Pod, type PodKey } from '../model/cluster.ts';
import type { Policy, PolicyId } from '../model/policy.ts';
import { type Generation, type Kernel, KernelError, type Owner, type Snapshot } from '../nft/kernel.ts';
import type { Op } from '../nft/plan/op.ts';
import { plan } from '../nft/plan/plan.ts';
import {
  type ElementKey,
  type Family,
  MEMBER,
  type NftSet,
  type Ruleset,
  type SetSpec,
} from '../nft/ruleset.ts';
import { Agent } from './agent.ts';
import type { Engine } from './engine.ts';

const PODS: SetSpec = { name: 'pods', key: ['ipv4_addr'], verdicts: false, interval: false };

const NETWORKS: NftSet = {
  name: 'networks',
  key: ['ipv4_addr'],
  verdicts: false,
  interval: true,
  elements: new Map([['192.0.2.0/24', MEMBER]]),
};

/** A cluster is represented by the addresses of its pods. */
function rulesetOf(...addresses: ElementKey[]): Ruleset {
  const elements = new Map(addresses.map(address => [address, MEMBER] as const));
  const table = { sets: new Map<string, NftSet>([['pods', { ...PODS, elements }]]), chains: new Map() };
  if (PodsEngine.networks) table.sets.set('networks', NETWORKS);
  const tables: [Family, typeof table][] = [
    ['ip', table],
    ['ip6', { sets: new Map(), chains: new Map() }],
  ];
  return { tables: new Map(tables) };
}

class PodsEngine implements Engine {
  /** How many of the coming flushes fail with a broken engine, also after a new engine is made. */
  static broken = 0;
  static made = 0;
  /** Whether the desired state has an interval set. */
  static networks = false;
  readonly #state = new ClusterState();
  readonly cluster: Cluster = this.#state;

  constructor() {
    PodsEngine.made++;
  }

  apply(event: ClusterEvent): void {
    this.#state.apply(event);
  }

  policiesBehind(): readonly PolicyId[] {
    return [];
  }

  isStaged(): boolean {
    return false;
  }

  takeRefused(): readonly Policy[] {
    return [];
  }

  waitingPods(): ReadonlyMap<PodKey, undefined> {
    return new Map();
  }

  prepare(): void {}

  countLookedAt(): number {
    return 0;
  }

  isOversized(): boolean {
    return false;
  }

  isPrepared(): boolean {
    return true;
  }

  *flushInPieces(): Generator<void, Ruleset> {
    if (PodsEngine.broken-- > 0) throw new TypeError('a class without a chain');
    return rulesetOf(...[...this.cluster.pods.values()].flatMap(({ addresses }) => addresses));
  }
}

/** A socket on the fake kernel that records each call and its time, and fails when the test says so. */
class Socket implements Kernel {
  readonly #fake: FakeKernel;
  readonly #site: Site;

  constructor(fake: FakeKernel, site: Site) {
    this.#fake = fake;
    this.#site = site;
  }

  get missingFeatures() {
    return this.#fake.missingFeatures;
  }

  async dump(): Promise<Snapshot> {
    this.#site.dumps++;
    this.#failIf(this.#site.dumpFailures.shift());
    return this.#fake.dump();
  }

  generation(): Promise<Generation> {
    return this.#fake.generation();
  }

  owner(): Promise<Owner> {
    return this.#fake.owner();
  }

  async commit(ops: readonly Op[], expected?: Generation): Promise<Generation> {
    this.#failIf(this.#site.failures.shift());
    this.#site.beforeCommit();
    await new Promise(resolve => setTimeout(resolve, this.#site.commitMs));
    const generation = await this.#fake.commit(ops, expected);
    if (ops.length > 0) this.#site.commits.push({ atMs: performance.now(), ops: ops.length });
    return generation;
  }

  close(): void {
    this.#fake.close();
  }

  #failIf(code: string | undefined): void {
    if (code !== undefined) throw new KernelError(code, `${code}: as the test wants it`);
  }
}

/** One agent and what it sees. */
class Site {
  readonly stranger: FakeKernel;
  readonly commits: { atMs: number; ops: number }[] = [];
  readonly log: string[] = [];
  readonly fields: object[] = [];
  readonly failures: (string | undefined)[] = [];
  readonly dumpFailures: string[] = [];
  readonly #stop = new AbortController();
  beforeCommit = () => {};
  commitMs = 0;
  dumps = 0;
  opened = 0;
  agent: Agent;
  ended: Promise<unknown> | undefined;

  constructor({ owners = false, stranger = new FakeKernel({ owners }) } = {}) {
    this.stranger = stranger;
    const line = (level: string) => (fields: object, message: string) => {
      this.log.push(`${level} ${message}`);
      this.fields.push(fields);
    };
    this.agent = new Agent({
      open: async () => {
        this.opened++;
        return new Socket(this.stranger.another(), this);
      },
      engine: () => new PodsEngine(),
      log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    });
  }

  run(): void {
    this.ended = this.agent.run(this.#stop.signal).then(
      () => 'stopped',
      error => error,
    );
  }

  async stop(): Promise<unknown> {
    this.#stop.abort();
    await pass(1);
    return this.ended;
  }

  async pods(): Promise<ElementKey[]> {
    const { ruleset } = await this.stranger.dump();
    return [...(ruleset.tables.get('ip')?.sets.get('pods')?.elements.keys() ?? [])];
  }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const addressOf = (n: number) => `10.0.${n >> 8}.${n & 255}`;

function pod(n: number): ClusterEvent {
  const key: PodKey = `shop/web-${n}`;
  const value: Pod = {
    key,
    namespace: 'shop',
    name: `web-${n}`,
    labels: {},
    node: 'n1',
    addresses: [parseAddress(addressOf(n))!],
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: [],
  };
  return { type: 'pod', key, value };
}

/** An agent whose rules are in force, with a budget that is full. */
async function running(site: Site, ...events: ClusterEvent[]): Promise<Site> {
  site.agent.apply(events);
  site.run();
  await pass(10_000);
  site.commits.length = 0;
  site.log.length = 0;
  site.fields.length = 0;
  site.dumps = 0;
  return site;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] });
  PodsEngine.broken = 0;
  PodsEngine.made = 0;
  PodsEngine.networks = false;
});

afterEach(() => vi.useRealTimers());

test('the agent brings what it was told before its start into force as one batch, and says so', async () => {
  const site = new Site();
  site.agent.apply([pod(1), pod(2)]);
  site.agent.apply([pod(3)]);
  site.run();
  await pass(10);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
  expect(site.commits).toHaveLength(1);
  expect(site.log).toEqual(['info rules in force']);
});

test('one change is committed at once, and its line in the log names it', async () => {
  const site = await running(new Site());
  site.agent.apply([pod(1)]);
  await pass(1);
  expect(await site.pods()).toEqual(['10.0.0.1']);
  expect(site.log).toEqual(['info rules follow Pod shop/web-1']);
});

test('of many changes in one batch the log names the first five and counts the rest', async () => {
  const site = await running(new Site());
  site.agent.apply(Array.from({ length: 12 }, (_, n) => pod(n)));
  await pass(1);
  expect(site.log).toEqual([
    'info rules follow Pod shop/web-0, Pod shop/web-1, Pod shop/web-2, Pod shop/web-3, Pod shop/web-4 and 7 more',
  ]);
});

test('five changes in a row are committed at once, then ten a second, and what waits shares a batch', async () => {
  const site = await running(new Site());
  const startMs = performance.now();
  for (let n = 0; n < 400; n++) {
    site.agent.apply([pod(n)]);
    await pass(5);
  }
  await pass(100);
  const at = site.commits.map(({ atMs }) => atMs - startMs);
  expect(at.slice(0, 5).every(ms => ms < 30)).toBe(true);
  // 2 s: the burst, and ten a second.
  expect(site.commits.length).toBeGreaterThanOrEqual(24);
  expect(site.commits.length).toBeLessThanOrEqual(26);
  expect(site.log.join()).toContain('and 15 more');
  expect((await site.pods()).length).toBe(400);
});

test('changes without consequence cost no budget', async () => {
  const site = await running(new Site(), pod(1));
  for (let n = 0; n < 50; n++) {
    site.agent.apply([pod(1)]);
    await pass(1);
  }
  site.agent.apply([pod(2)]);
  await pass(1);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(site.log.at(0)).toBe('debug nothing to change for Pod shop/web-1');
});

test('a change that comes during a commit is committed after it, never beside it', async () => {
  const site = await running(new Site());
  let underWay = 0;
  let most = 0;
  site.commitMs = 50;
  site.beforeCommit = () => {
    most = Math.max(most, ++underWay);
    setTimeout(() => underWay--, 50);
  };
  for (let n = 0; n < 20; n++) {
    site.agent.apply([pod(n)]);
    await pass(7);
  }
  await pass(1000);
  expect(most).toBe(1);
  expect((await site.pods()).length).toBe(20);
});

test('no wake-up is lost, whenever the change comes', async () => {
  // Where the tables are ours the next look of its own accord is a second away: too late for this test.
  const site = await running(new Site({ owners: true }));
  site.commitMs = 3;
  for (let n = 0; n < 100; n += 2) {
    site.agent.apply([pod(n)]);
    await pass(n % 7); // before, in and after the commit of the first
    site.agent.apply([pod(n + 1)]);
    await pass(250);
    expect((await site.pods()).length, `after change ${n + 1}`).toBe(n + 2);
  }
});

test('a commit that fails leaves the old rules in force, reads the kernel, and is tried again ever later', async () => {
  const site = await running(new Site(), pod(1));
  site.failures.push('EBUSY', 'EBUSY', 'EBUSY', 'EBUSY');
  site.agent.apply([pod(2)]);
  await pass(1);
  expect(await site.pods()).toEqual(['10.0.0.1']);
  await pass(5000);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(site.fields.slice(0, 4)).toEqual([100, 200, 400, 800].map(retryMs => ({ retryMs })));
  expect(site.log.at(0)).toBe('error commit failed, the rules in force stay: EBUSY: as the test wants it');
  expect(site.log.at(-1)).toBe('info rules follow Pod shop/web-2');
  expect(site.dumps).toBe(4);
});

test('after many failures the agent still tries every five seconds, and its next failure waits briefly again', async () => {
  const site = await running(new Site());
  site.failures.push(...Array.from({ length: 12 }, () => 'EINVAL'));
  site.agent.apply([pod(1)]);
  await pass(60_000);
  expect(Math.max(...site.fields.map(field => (field as { retryMs?: number }).retryMs ?? 0))).toBe(5000);
  expect(await site.pods()).toEqual(['10.0.0.1']);
  site.fields.length = 0;
  site.failures.push('EINVAL');
  site.agent.apply([pod(2)]);
  await pass(200);
  expect(site.fields[0]).toEqual({ retryMs: 100 });
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
});

test('a second failure in a row casts doubt on the engine: it is made anew from the cluster', async () => {
  const site = await running(new Site(), pod(1));
  const before = PodsEngine.made;
  site.failures.push('ENOENT', 'ENOENT', 'ENOENT');
  site.agent.apply([pod(2)]);
  await pass(5000);
  expect(PodsEngine.made).toBe(before + 1);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
});

test('whoever commits between our look and our commit costs another look, and no line in the log', async () => {
  const site = await running(new Site());
  let storms = 7;
  site.beforeCommit = () => {
    if (storms-- > 0) site.stranger.touch();
  };
  site.agent.apply([pod(1)]);
  await pass(10);
  expect(await site.pods()).toEqual(['10.0.0.1']);
  expect(site.dumps).toBe(7);
  expect(site.log).toEqual(['info rules follow Pod shop/web-1']);
});

test('a storm without end is survived: the agent waits, and is through when it is over', async () => {
  const site = await running(new Site());
  let storm = true;
  site.beforeCommit = () => {
    if (storm) site.stranger.touch();
  };
  site.agent.apply([pod(1)]);
  await pass(3000);
  expect(await site.pods()).toEqual([]);
  expect(site.log.every(line => line.startsWith('error commit failed'))).toBe(true);
  storm = false;
  await pass(5000);
  expect(await site.pods()).toEqual(['10.0.0.1']);
});

test('tables that are ours alone are not read again because a neighbour commits', async () => {
  const site = await running(new Site({ owners: true }), pod(1));
  for (let n = 2; n < 12; n++) {
    site.stranger.touch();
    site.agent.apply([pod(n)]);
    await pass(200);
  }
  expect((await site.pods()).length).toBe(11);
  expect(site.dumps).toBe(0);
});

test('a neighbour who commits before each of our commits cannot hold up tables that are ours alone', async () => {
  const site = await running(new Site({ owners: true }), pod(1));
  site.beforeCommit = () => site.stranger.touch();
  site.agent.apply([pod(2)]);
  await pass(1);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(site.log).toEqual(['info rules follow Pod shop/web-2']);
});

test('tables that are everybody’s are read whenever the generation has moved, and only then', async () => {
  const site = await running(new Site(), pod(1));
  await pass(5000);
  expect(site.dumps).toBe(0);
  site.stranger.touch();
  await pass(5000);
  expect(site.dumps).toBe(1);
});

test.each([{ owners: true }, {}])(
  'what a commit made is read back once, and not again while nobody writes (%o)',
  async kernel => {
    const site = await running(new Site(kernel), pod(1));
    await pass(300_000);
    expect(site.dumps).toBe(1);
    expect(site.log).toEqual([]);
    site.agent.apply([pod(2)]);
    await pass(300_000);
    expect(site.dumps).toBe(2);
  },
);

test('tables that are ours alone are not read back because a neighbour writes his', async () => {
  const site = await running(new Site({ owners: true }), pod(1));
  await pass(31_000);
  for (let n = 0; n < 10; n++) {
    site.stranger.touch();
    await pass(30_000);
  }
  expect(site.dumps).toBe(1);
});

test('the kernel is read back whenever somebody asks for it', async () => {
  const site = await running(new Site({ owners: true }), pod(1));
  await pass(31_000);
  for (let n = 0; n < 3; n++) {
    site.agent.requestResync();
    await pass(10);
  }
  expect(site.dumps).toBe(4);
});

test('the kernel is read every thirty seconds although changes never end', async () => {
  const site = await running(new Site({ owners: true }));
  for (let n = 0; n < 400; n++) {
    site.agent.apply([pod(n)]);
    await pass(300);
  }
  expect(site.dumps).toBe(4);
});

test('a read that is asked for during another is done after it', async () => {
  const site = await running(new Site({ owners: true }));
  site.commitMs = 50;
  site.agent.requestResync();
  await pass(10);
  site.agent.requestResync();
  await pass(200);
  expect(site.dumps).toBe(2);
});

test('a read that is interrupted by neighbours all the time is no failure while the tables are ours', async () => {
  const site = await running(new Site({ owners: true }), pod(1));
  site.stranger.touch();
  site.dumpFailures.push('EAGAIN');
  await pass(31_000);
  expect(site.dumps).toBe(1);
  site.agent.apply([pod(2)]);
  await pass(1);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(site.log).toEqual(['info rules follow Pod shop/web-2']);
});

test('a foreign change in our tables is put right within a tenth of a second, and told step by step', async () => {
  const site = await running(new Site(), pod(1), pod(2));
  await site.stranger.commit([
    { op: 'delElements', family: 'ip', set: PODS, keys: ['10.0.0.1'] },
    { op: 'addElements', family: 'ip', set: PODS, elements: [['10.9.9.9', MEMBER]] },
    { op: 'addChain', family: 'ip6', chain: 'theirs' },
  ]);
  await pass(110);
  expect(await site.pods()).toEqual(['10.0.0.2', '10.0.0.1']);
  expect(site.log).toEqual(['warn another process changed our tables; repairing', 'info rules repaired']);
  expect(site.fields[0]).toEqual({
    ops: 3,
    repair: [
      'delete 1 elements from ip sluice pods: 10.9.9.9',
      'add 1 elements to ip sluice pods: 10.0.0.1',
      'delete chain ip6 sluice theirs',
    ],
  });
});

test('a foreign change is put right in the batch of a change that comes before the next look', async () => {
  const site = await running(new Site(), pod(1));
  await site.stranger.commit([{ op: 'delTable', family: 'ip' }]);
  site.agent.apply([pod(2)]);
  await pass(1);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(site.commits).toHaveLength(1);
  expect(site.log).toEqual([
    'warn another process changed our tables; repairing',
    'info rules follow Pod shop/web-2',
  ]);
});

test('a flush of everything is put right, again and again', async () => {
  const site = await running(new Site(), pod(1));
  for (let n = 0; n < 5; n++) {
    await site.stranger.commit([
      { op: 'delTable', family: 'ip' },
      { op: 'delTable', family: 'ip6' },
    ]);
    await pass(110);
    expect(await site.pods()).toEqual(['10.0.0.1']);
  }
  expect((await site.stranger.dump()).ruleset.tables.size).toBe(2);
});

test('an engine that breaks is made anew from the cluster, and nothing is lost', async () => {
  const site = await running(new Site(), pod(1));
  const before = PodsEngine.made;
  PodsEngine.broken = 1;
  site.agent.apply([pod(2)]);
  await pass(1);
  expect(PodsEngine.made).toBe(before + 1);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(site.log).toEqual([
    'error rules could not be made, those in force stay; starting from scratch',
    'info rules follow Pod shop/web-2',
  ]);
});

test('an engine that breaks although it was made anew ends the agent, with the old rules in force', async () => {
  const site = await running(new Site(), pod(1));
  PodsEngine.broken = 2;
  site.agent.apply([pod(2)]);
  await pass(10);
  expect(await site.ended).toEqual(new TypeError('a class without a chain'));
  expect(await site.pods()).toEqual(['10.0.0.1']);
});

test.each(['EBADF', 'ENOBUFS', 'EIO'])(
  'after %s the agent opens another socket and adopts its tables',
  async code => {
    const site = await running(new Site({ owners: true }), pod(1));
    site.failures.push(code);
    site.agent.apply([pod(2)]);
    await pass(1000);
    expect(site.opened).toBe(2);
    expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
    site.stranger.touch();
    await pass(2000);
    expect(site.dumps, 'tables that are ours again are not read again').toBe(1);
  },
);

const WAITS_FOR_OWNER = 'debug another agent owns the tables';

test('while its old socket still owns the tables the agent waits, and takes them over when it can', async () => {
  const first = await running(new Site({ owners: true }), pod(1));
  const second = new Site({ stranger: first.stranger });
  second.agent.apply([pod(1), pod(2)]);
  second.run();
  await pass(2000);
  expect(await second.pods()).toEqual(['10.0.0.1']);
  await first.stop();
  await pass(500);
  expect(await second.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(new Set(second.log)).toEqual(new Set([WAITS_FOR_OWNER, 'info rules in force']));
});

test('its patience with the old owner begins when it runs, however long its source took to be read', async () => {
  const first = await running(new Site({ owners: true }), pod(1));
  const second = new Site({ stranger: first.stranger });
  second.agent.apply([pod(1), pod(2)]);
  await pass(60_000);
  second.run();
  await pass(2000);
  await first.stop();
  await pass(500);
  expect(await second.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
});

test('a second agent ends with one sentence after three seconds, and has changed nothing', async () => {
  const first = await running(new Site({ owners: true }), pod(1));
  const generation = await first.stranger.generation();
  const second = new Site({ stranger: first.stranger });
  second.agent.apply([pod(2)]);
  second.run();
  await pass(3500);
  expect(await second.ended).toEqual(
    new KernelError(
      'EPERM',
      'EPERM: the tables ip sluice and ip6 sluice belong to another process: is an agent running in this network namespace already? nothing was changed',
    ),
  );
  expect(new Set(second.log)).toEqual(new Set([WAITS_FOR_OWNER]));
  expect(await first.stranger.generation()).toBe(generation);
  first.agent.apply([pod(3)]);
  await pass(1);
  expect(await first.pods()).toEqual(['10.0.0.1', '10.0.0.3']);
});

test('a second agent with the same rules is refused all the same', async () => {
  const first = await running(new Site({ owners: true }), pod(1));
  const second = new Site({ stranger: first.stranger });
  second.agent.apply([pod(1)]);
  second.run();
  await pass(3500);
  expect(await second.ended).toMatchObject({ code: 'EPERM' });
});

test('a restarted agent commits the difference; where there is none, nothing', async () => {
  const first = await running(new Site(), pod(1), pod(2));
  await first.stop();
  const generation = await first.stranger.generation();
  const second = new Site({ stranger: first.stranger });
  second.agent.apply([pod(1), pod(2)]);
  second.run();
  await pass(10);
  expect(second.log).toEqual(['info rules in force: those in the kernel were right']);
  expect(await first.stranger.generation()).toBe(generation);
  await second.stop();
  const third = new Site({ stranger: first.stranger });
  third.agent.apply([pod(2), pod(3)]);
  third.run();
  await pass(10);
  expect(third.commits).toEqual([{ atMs: expect.any(Number), ops: 2 }]);
});

test('a new interval set goes ahead in a batch of its own; if the other is refused, what stands is read', async () => {
  const site = await running(new Site({ owners: true }), pod(1));
  PodsEngine.networks = true;
  site.failures.push(undefined, 'EINVAL');
  site.agent.apply([pod(2)]);
  await pass(1);
  expect(site.commits.map(({ ops }) => ops)).toEqual([2]);
  expect(await site.pods()).toEqual(['10.0.0.1']);
  await pass(1000);
  expect(site.dumps).toBe(1);
  expect(site.commits.map(({ ops }) => ops)).toEqual([2, 1]);
  expect(await site.pods()).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(site.log.at(-1)).toBe('info rules follow Pod shop/web-2');
});

test('tables that somebody put up without an owner are made anew in one batch, and are ours then', async () => {
  const site = new Site({ owners: true });
  await site.stranger.commit(plan({ tables: new Map() }, rulesetOf('10.0.0.7')));
  site.stranger.disown();
  site.agent.apply([pod(1)]);
  site.run();
  await pass(10);
  expect(await site.pods()).toEqual(['10.0.0.1']);
  await expect(site.stranger.commit([{ op: 'delTable', family: 'ip' }])).rejects.toMatchObject({
    code: 'EPERM',
  });
});

test('the rules of an agent that stops stay, and it stops at once, whatever it waits for', async () => {
  const site = await running(new Site({ owners: true }), pod(1));
  site.failures.push(...Array.from({ length: 20 }, () => 'EINVAL'));
  site.agent.apply([pod(2)]);
  await pass(20_000);
  expect(await site.stop()).toBe('stopped');
  expect(await site.pods()).toEqual(['10.0.0.1']);
  expect(await site.stranger.owner()).toBe('none');
  expect(vi.getTimerCount()).toBe(0);
});

test('an agent that is told to stop before its start touches nothing', async () => {
  const site = new Site();
  site.agent.apply([pod(1)]);
  await site.stop();
  site.run();
  expect(await site.ended).toBe('stopped');
  expect((await site.stranger.dump()).ruleset.tables.size).toBe(0);
});

test('where nftables cannot be used at all the agent says so and ends', async () => {
  const agent = new Agent({
    open: () => Promise.reject(new KernelError('EPERM', 'EPERM: needs CAP_NET_ADMIN')),
    engine: () => new PodsEngine(),
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
  });
  await expect(agent.run(new AbortController().signal)).rejects.toThrow('EPERM: needs CAP_NET_ADMIN');
});
