/** Which connections are scanned and cut, with a conntrack table in memory. */
import { expect, test, vi } from 'vitest';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { Incremental } from '../../compiler/live/incremental.ts';
import { type Address, parseAddress } from '../../model/address.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { PolicyId } from '../../model/policy.ts';
import type { Connection, Conntrack } from '../../nft/conntrack.ts';
import { plan } from '../../nft/plan/plan.ts';
import type { Ruleset } from '../../nft/ruleset.ts';
import { isolated } from '../admission/change.ts';
import { LiveConnections } from './liveconnections.ts';

const at = (text: string): Address => parseAddress(text)!;
const [db, web, api, node, gateway] = ['10.1.0.1', '10.2.0.1', '10.2.0.2', '172.18.0.1', '10.1.0.254'].map(
  at,
) as [Address, Address, Address, Address, Address];

const CAST = [
  nodeEvent('n1', [node]),
  shopPod('shop/db', 'n1', [db, 'fd01::1']),
  shopPod('shop/web', 'n2', [web, 'fd02::1']),
  shopPod('shop/api', 'n2', [api]),
];

const ingress = (...apps: string[]) =>
  shopPolicy('db', {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: apps.map(app => ({ podSelector: { matchLabels: { app } } })) }],
  });

/** Connections that the kernel answers at once. */
const PART = 500;

class Table implements Conntrack {
  readonly missingFeatures = [];
  readonly asked: (readonly Address[] | 'all')[] = [];
  failing = false;
  /** How long a look takes. */
  readMs = 0;
  connections: Connection[] = [];
  afterPart: ((about: readonly Address[] | 'all') => Promise<void>) | undefined;

  async read(
    about: readonly Address[] | 'all',
    wanted: (flow: Flow) => boolean,
    visit: (one: Connection) => void,
    pause?: () => Promise<void> | undefined,
  ) {
    this.asked.push(about);
    if (this.readMs > 0) await new Promise(resolve => setTimeout(resolve, this.readMs));
    await undefined;
    if (this.failing) throw new Error('ENOBUFS');
    const all = this.connections;
    for (let first = 0; first < all.length; first += PART) {
      for (const one of all.slice(first, first + PART)) {
        const isAsked = about === 'all' || about.includes(one.flow.from) || about.includes(one.flow.to);
        if (isAsked && wanted(one.flow)) visit(one);
      }
      await pause?.();
      await this.afterPart?.(about);
    }
  }

  async has(one: Connection): Promise<boolean> {
    return this.connections.includes(one);
  }

  async delete(connections: readonly Connection[]): Promise<number> {
    const [before, gone] = [this.connections.length, new Set(connections)];
    this.connections = this.connections.filter(one => !gone.has(one));
    return before - this.connections.length;
  }

  close(): void {}
}

class Site {
  readonly table = new Table();
  readonly lines: string[] = [];
  /** How often the node's own addresses were listed. */
  listed = 0;
  readonly live: LiveConnections;
  readonly #engine = new Incremental('n1');
  #before: Ruleset = { tables: new Map() };

  constructor(againMs: number) {
    const say = (_: object, message: string) => void this.lines.push(message);
    const log = { debug: () => undefined, info: say, warn: say, error: say };
    const ownAddresses = () => {
      this.listed++;
      return new Set([node, gateway]);
    };
    this.live = new LiveConnections({ conntrack: this.table, ownAddresses, log, againMs, node: 'n1' });
  }

  open(from: Address, to: Address, rest: Partial<Flow> = { protocol: 'TCP', port: 80 }): Connection {
    const connection = { flow: { from, to, protocol: 'TCP', ...rest } as Flow, handle: new Uint8Array() };
    this.table.connections.push(connection);
    return connection;
  }

  /** Applies events and commits, without waiting for the scan. */
  note(...events: ClusterEvent[]): void {
    this.#follow(events, new Set());
  }

  /** The allowances of the policies are on their way. */
  async isolate(event: ClusterEvent): Promise<void> {
    if (event.type !== 'policy') return;
    this.#follow([{ ...event, value: isolated(event.value!) }], new Set([event.key]));
    await this.live.settled();
  }

  #follow(events: readonly ClusterEvent[], isolating: ReadonlySet<PolicyId>): void {
    for (const event of events) this.#engine.apply(event);
    const ruleset = this.#engine.flush();
    const ops = plan(this.#before, ruleset);
    this.#before = ruleset;
    this.live.committed({ cluster: this.#engine.cluster, ruleset, ops, unknownBefore: false, isolating });
  }

  async change(...events: ClusterEvent[]): Promise<void> {
    this.note(...events);
    await this.live.settled();
  }
}

/** So long that nothing is scanned a second time. */
const NEVER_MS = 1 << 30;

async function siteWith(...events: ClusterEvent[]): Promise<Site> {
  return siteAgain(NEVER_MS, ...events);
}

async function siteAgain(againMs: number, ...events: ClusterEvent[]): Promise<Site> {
  const site = new Site(againMs);
  await site.change(...CAST, ...events);
  site.table.asked.length = 0;
  return site;
}

test('a scan lists the addresses of the node once at most, and only if there is a connection to judge', async () => {
  const site = await siteWith();
  await site.change(ingress('web', 'api'));
  expect([site.live.counts.scans > 0, site.listed]).toEqual([true, 0]);
  site.open(api, db);
  site.open(web, db);
  await site.change(ingress('web'));
  expect([site.live.counts.judged > 1, site.listed]).toEqual([true, 1]);
});

test('what policy denies is cut, in every protocol, and nothing else', async () => {
  const site = await siteWith(ingress('web', 'api'));
  const kept = [
    site.open(api, db),
    site.open(db, web), // the pod's own: egress is open
    site.open(node, db),
    site.open(gateway, db), // the node's, from an address that its object does not name
    site.open(web, api), // passes by
  ];
  const names: Partial<Flow>[] = [
    { protocol: 'TCP', port: 80 },
    { protocol: 'UDP', port: 53 },
    { protocol: 'SCTP', port: 9 },
    { protocol: 'ICMP' },
    { protocol: 47 },
  ];
  for (const name of names) site.open(web, db, name);
  site.open(at('fd02::1'), at('fd01::1'));
  await site.change(ingress('api'));
  expect(site.table.connections).toEqual(kept);
  expect(site.live.counts).toEqual({ scans: 2, judged: 7, cut: 6 });
  expect(site.lines).toEqual([
    'cut 6 connections that policy denies now: shop/web -> shop/db:80/TCP, shop/web -> shop/db:53/UDP, shop/web -> shop/db:9/SCTP, shop/web -> shop/db/ICMP, shop/web -> shop/db/47, …',
  ]);
});

test('only what may be denied is read: the addresses at an end, or nothing', async () => {
  const site = await siteWith(ingress('web'));
  site.open(web, db);
  await site.change(ingress('web', 'api'));
  expect(site.table.asked).toEqual([]);
  await site.change({ type: 'pod', key: 'shop/api' });
  expect(site.table.asked).toEqual([[api]]);
  await site.change(ingress('none'));
  expect(site.table.asked).toEqual([[api], [db, at('fd01::1')]]);
  expect(site.table.connections).toEqual([]);
});

test('what commits ask for during a look is looked at together, after it', async () => {
  const site = await siteWith(ingress('web', 'api'));
  site.note({ type: 'pod', key: 'shop/web' });
  site.note({ type: 'pod', key: 'shop/api' });
  site.note(ingress('none'));
  await site.live.settled();
  expect(site.table.asked).toEqual([
    [web, at('fd02::1')],
    [api, db, at('fd01::1')],
  ]);
});

test('what was on its way while the rules changed is cut by a second look', async () => {
  vi.useFakeTimers();
  const site = await siteAgain(1_000, ingress('web'));
  await site.change(ingress('api'));
  site.open(web, db);
  await vi.advanceTimersByTimeAsync(1_200);
  expect(site.table.connections).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(100);
  vi.useRealTimers();
  expect(site.table.connections).toEqual([]);
});

test('commits of a quarter of a second share their second look, however many they are', async () => {
  vi.useFakeTimers();
  const site = await siteAgain(1_000, ingress('web'));
  await vi.advanceTimersByTimeAsync(2_000);
  for (let commit = 0; commit < 20; commit++) {
    await site.change(ingress(commit % 2 === 1 ? 'api' : 'web'));
    await vi.advanceTimersByTimeAsync(50);
  }
  site.table.asked.length = 0;
  site.open(web, db); // by a packet that the rules before the last commit let pass
  await vi.advanceTimersByTimeAsync(2_000);
  vi.useRealTimers();
  expect(site.table.asked.length).toBeLessThanOrEqual(5);
  expect(site.table.connections).toEqual([]);
});

test('a second look that may be taken is one with the first look after a later commit', async () => {
  vi.useFakeTimers();
  const site = await siteAgain(1_000, ingress('web', 'api'));
  await vi.advanceTimersByTimeAsync(2_000);
  site.table.asked.length = 0;
  await site.change(ingress('web'));
  await vi.advanceTimersByTimeAsync(1_100);
  site.open(api, db); // by a packet that the rules before the first commit let pass
  await site.change({ type: 'pod', key: 'shop/web' });
  expect(site.table.asked).toEqual([
    [db, at('fd01::1')],
    [web, at('fd02::1'), db, at('fd01::1')],
  ]);
  expect(site.table.connections).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  vi.useRealTimers();
  expect(site.table.asked.length).toBe(2);
});

test('a look at many rests as long as it took before the next, and few addresses end the rest', async () => {
  const crowd = Array.from({ length: 6 }, (_, i) =>
    shopPod(`shop/db-${i}`, 'n1', [`10.1.1.${i}`], { app: 'db' }),
  );
  const site = await siteWith(...crowd, ingress('web', 'api'));
  vi.useFakeTimers();
  site.table.readMs = 300;
  site.note(ingress('web'));
  site.note(ingress('api'));
  await vi.advanceTimersByTimeAsync(310);
  site.note(ingress('web'));
  await vi.advanceTimersByTimeAsync(200);
  expect(site.table.asked.map(about => about.length)).toEqual([8]);
  site.note({ type: 'pod', key: 'shop/web' });
  await vi.advanceTimersByTimeAsync(1);
  expect(site.table.asked.map(about => about.length)).toEqual([8, 2]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(site.table.asked.map(about => about.length)).toEqual([8, 2, 8]);
  vi.useRealTimers();
});

const CROWD = at('10.1.0.9');
const closed = shopPolicy('crowd', {
  podSelector: { matchLabels: { app: 'crowd' } },
  policyTypes: ['Egress'],
});

/** A pod of this node with very many connections, and one connection of another pod. */
async function besideCrowd(): Promise<{ site: Site; denied: Connection }> {
  const site = await siteWith(shopPod('shop/crowd', 'n1', [CROWD]), ingress('web'));
  const many = Array.from({ length: 24_000 }, (_, i) => ({
    flow: { from: CROWD, to: web, protocol: 'UDP', port: 1 + (i % 1_000) } as Flow,
    handle: new Uint8Array(),
  }));
  site.table.connections.push(...many);
  return { site, denied: site.open(web, db) };
}

test('whoever has very many connections keeps those of nobody else waiting, and is looked at apart from then on', async () => {
  const { site, denied } = await besideCrowd();
  const cut = vi.spyOn(site.table, 'delete');
  const few = () => cut.mock.calls.findIndex(([connections]) => connections.includes(denied));
  await site.change(ingress('api'), closed);
  expect(few()).toBeLessThanOrEqual(12); // those that a short look sees of a crowd go with it
  expect(site.table.asked).toEqual([[CROWD, db, at('fd01::1')], [CROWD]]);
  expect(site.table.connections).toEqual([]);
  await site.change({ type: 'policy', key: 'NetworkPolicy shop/crowd' });
  for (let i = 0; i < 12_000; i++) site.open(CROWD, web);
  await site.change(closed, ingress('none'));
  expect(site.table.asked.slice(2)).toEqual([[db, at('fd01::1')], [CROWD]]);
  expect(site.table.connections).toEqual([]);
});

test('a look at few waits for none at many that is under way', async () => {
  const { site, denied } = await besideCrowd();
  await site.change(closed);
  for (let i = 0; i < 12_000; i++) site.open(CROWD, web);
  const [shortIsDone, reads] = [Promise.withResolvers<void>(), vi.fn()];
  site.table.afterPart = async about => {
    reads();
    if (about.length === 1) await shortIsDone.promise;
  };
  await site.change({ type: 'policy', key: 'NetworkPolicy shop/crowd' });
  site.note(closed);
  await vi.waitUntil(() => reads.mock.calls.length > 0);
  site.note(ingress('api'));
  await vi.waitUntil(() => !site.table.connections.includes(denied));
  expect(site.table.connections.length).toBeGreaterThan(10_000);
  shortIsDone.resolve();
  await site.live.settled();
  expect(site.table.connections).toEqual([]);
});

test('what rules have come to allow again, while others were looked at, is not cut', async () => {
  const site = await siteWith(ingress('web'));
  for (let port = 1; port <= PART; port++) site.open(api, web);
  const call = site.open(web, db);
  site.table.afterPart = async () => {
    site.table.afterPart = undefined;
    site.note(ingress('web'));
  };
  await site.change(ingress('api'));
  expect([site.table.connections.includes(call), site.live.counts.cut]).toEqual([true, 0]);
});

test('very many that are denied are cut while the others are read, by one look', async () => {
  const { site } = await besideCrowd();
  await site.change(closed);
  site.table.asked.length = 0;
  for (let i = 0; i < 24_000; i++) site.open(CROWD, web, { protocol: 'SCTP', port: 9 });
  const cut = vi.spyOn(site.table, 'delete');
  await site.change({ type: 'policy', key: 'NetworkPolicy shop/crowd' });
  await site.change(closed);
  expect(site.table.asked).toEqual([[CROWD]]);
  expect(Math.max(...cut.mock.calls.map(([connections]) => connections.length))).toBeLessThanOrEqual(
    1_000 + PART,
  );
  expect(site.live.counts.cut).toBe(48_000);
});

test('of very many that are denied none is forgotten', async () => {
  const site = await siteWith(ingress('web'));
  for (let port = 1; port <= 25_000; port++) site.open(web, db, { protocol: 'TCP', port });
  await site.change(ingress('api'));
  expect(site.table.connections).toEqual([]);
  expect(site.live.counts.cut).toBe(25_000);
});

test('a look that fails is said, and made up for by itself', async () => {
  const site = await siteWith(ingress('web'));
  site.open(web, db);
  site.table.failing = true;
  vi.useFakeTimers();
  await site.change(ingress('api'));
  site.table.failing = false;
  await vi.advanceTimersByTimeAsync(1_000);
  vi.useRealTimers();
  expect(site.table.connections).toEqual([]);
});

test('after close() nothing is looked at, and nothing said', async () => {
  const site = await siteWith(ingress('web'));
  site.table.failing = true;
  site.note(ingress('api'));
  site.live.close();
  await site.live.settled();
  expect(site.lines).toEqual([]);
});

test('a look that fails is made up for with the next commit', async () => {
  const site = await siteWith(ingress('web'));
  site.open(web, db);
  site.table.failing = true;
  await site.change(ingress('api'));
  expect(site.lines).toEqual(['live connections could not be judged: ENOBUFS']);
  site.table.failing = false;
  await site.change(ingress('api', 'other'));
  expect(site.table.connections).toEqual([]);
  site.live.close();
});

test('what a new policy isolates before its allowances are in force is judged with them, and not cut before', async () => {
  const site = await siteWith();
  const [allowed, denied] = [site.open(web, db), site.open(api, db)];
  await site.isolate(ingress('web'));
  expect(site.table.connections).toEqual([allowed, denied]);
  await site.change(ingress('web'));
  expect(site.table.connections).toEqual([allowed]);
});

test('what a new policy isolates is judged when nothing of it is awaited, although no rule changes then', async () => {
  const site = await siteWith();
  site.open(web, db);
  await site.isolate(ingress());
  expect(site.table.connections).toHaveLength(1);
  await site.change();
  expect(site.table.connections).toEqual([]);
});

test('what a policy isolates whose allowances do not come is cut after a second without them', async () => {
  const site = await siteAgain(50);
  site.open(web, db);
  await site.isolate(ingress('web'));
  expect(site.table.connections).toHaveLength(1);
  await expect.poll(() => site.table.connections).toEqual([]);
  site.live.close();
});

test('after a change by others everything is looked at', async () => {
  const site = await siteWith(ingress('web'));
  const engine = new Incremental('n1');
  for (const event of [...CAST, ingress('web')]) engine.apply(event);
  const ruleset = engine.flush();
  const ops = plan({ tables: new Map() }, ruleset);
  site.live.committed({ cluster: engine.cluster, ruleset, ops, unknownBefore: true });
  await site.live.settled();
  expect(site.table.asked).toEqual(['all']);
});

test('a pod’s way into a tunnel of nodes is cut, which it may have had before there were rules (N72)', async () => {
  const site = new Site(NEVER_MS);
  const other = at('172.18.0.2');
  const ends: Partial<Flow>[] = [
    { protocol: 'UDP', port: 8472 },
    { protocol: 'UDP', port: 6081 },
    { protocol: 47 },
  ];
  const into = ends.flatMap(end => [node, gateway, other].map(to => site.open(db, to, end)));
  const kept = [
    site.open(other, node, { protocol: 'UDP', port: 8472 }), // the nodes' own
    site.open(web, node, { protocol: 'UDP', port: 8472 }), // its own node's to judge
    site.open(db, web, { protocol: 'UDP', port: 8472 }), // no end of a tunnel
    site.open(db, node, { protocol: 'UDP', port: 53 }),
  ];
  await site.change(...CAST, nodeEvent('n2', [other]));
  expect(into).toHaveLength(9);
  expect(site.table.connections).toEqual(kept);
});

test('a pod’s way into the tunnels of a node that joins is cut when the node is known', async () => {
  const site = new Site(NEVER_MS);
  const later = at('172.18.0.3');
  await site.change(...CAST);
  const kept = site.open(db, later, { protocol: 'UDP', port: 53 });
  site.open(db, later, { protocol: 'UDP', port: 8472 });
  await site.change(nodeEvent('n3', [later]));
  expect(site.table.connections).toEqual([kept]);
});
