/** What becomes of open connections when policy changes (N64): real sockets, real packets, one node's kernel. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { forgetConnections } from '../../bench/lab/conntrack.ts';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { installServices } from '../../bench/lab/services.ts';
import { address, topologyOf } from '../../bench/lab/topology.ts';
import { Netns } from '../../bench/lab/unnamed.ts';
import { track } from '../../bench/trackedconnection.ts';
import { Agent } from '../../src/agent/agent.ts';
import { LiveConnections } from '../../src/agent/connections/liveconnections.ts';
import { compile } from '../../src/compiler/compile.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import { withoutGuard } from '../../src/compiler/midstreamguard.ts';
import { openConntrack } from '../../src/kernel/netlink/conntrack/conntrack.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Address } from '../../src/model/address.ts';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import type { Connection, Conntrack } from '../../src/nft/conntrack.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { NO_CONNECTION_FILTER } from '../../src/nft/missingfeature.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { answers, reaches, Telephones, until } from '../support/agent/live.ts';
import { sluice } from '../support/agent/sluice.ts';
import { nodeEvent, shopPod, shopPolicy } from '../support/scenarios/shop.ts';

const CAST: readonly ClusterEvent[] = [
  nodeEvent('n1', ['172.18.0.1', 'fd18::1']),
  nodeEvent('n2', ['172.18.0.2', 'fd18::2']),
  shopPod('shop/web', 'n1', ['10.1.0.1', 'fd01::1']),
  shopPod('shop/api', 'n1', ['10.1.0.2', 'fd01::2']),
  shopPod('shop/db', 'n1', ['10.1.0.3', 'fd01::3']),
  shopPod('shop/far', 'n2', ['10.2.0.1', 'fd02::1']),
];
const [web, api, db, far, node] = ['10.1.0.1', '10.1.0.2', '10.1.0.3', '10.2.0.1', '172.18.0.1'].map(
  address,
) as [Address, Address, Address, Address, Address];

const from = (...apps: string[]) => apps.map(app => ({ podSelector: { matchLabels: { app } } }));

/** Who may come in to the database. */
const dbIngress = (...apps: string[]) =>
  shopPolicy('db', {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: apps.length === 0 ? [] : [{ from: from(...apps) }],
  });

/** Whom a pod may call. */
const egress = (app: string, ...to: string[]) =>
  shopPolicy(app, {
    podSelector: { matchLabels: { app } },
    policyTypes: ['Egress'],
    egress: to.length === 0 ? [] : [{ to: from(...to) }],
  });

let lab: Lab;
/** What is to come may take so long on a busy machine. In milliseconds. */
const PATIENT = { timeout: 30_000 };

let phones: Telephones;

beforeAll(async () => {
  lab = await buildLab(topologyOf(stateOf(CAST)));
  // What nobody has answered yet is tracked for as long as a busy machine takes to ask for it.
  onNode(() => writeFileSync('/proc/sys/net/netfilter/nf_conntrack_udp_timeout', '600'));
});
afterAll(() => lab.remove());
beforeEach(() => {
  phones = new Telephones(lab);
});
afterEach(async () => {
  phones.close();
  await clear();
});

function stateOf(events: readonly ClusterEvent[]): ClusterState {
  const state = new ClusterState();
  for (const event of events) state.apply(event);
  return state;
}

const onNode = <T>(work: () => T): T => inNamespace(lab.nodeNamespace('n1'), work);

async function clear(): Promise<void> {
  await enforce(new Map());
  forgetConnections(lab.nodeNamespace('n1'));
  setLoose(true);
}

function setLoose(loose: boolean): void {
  onNode(() => writeFileSync('/proc/sys/net/netfilter/nf_conntrack_tcp_loose', loose ? '1' : '0'));
}

/** Leads the node to what the tables say, without an agent. */
async function enforce(tables: ReturnType<typeof compile>['tables']): Promise<void> {
  const kernel: Kernel = await onNode(() => openNftKernel());
  const { ruleset, generation } = await kernel.dump();
  await kernel.commit(plan(ruleset, { tables }), generation);
  kernel.close();
}

const rulesFor = (...policies: ClusterEvent[]) => compile(stateOf([...CAST, ...policies]), 'n1');

/** What the node tracks between two addresses. */
async function tracked(opener: Address, answerer: Address): Promise<Connection[]> {
  return withConntrack(async conntrack => {
    const found: Connection[] = [];
    await conntrack.read(
      [opener],
      flow => flow.from === opener && flow.to === answerer,
      one => found.push(one),
    );
    return found;
  });
}

async function withConntrack<T>(work: (conntrack: Conntrack) => Promise<T>): Promise<T> {
  const conntrack = onNode(() => openConntrack());
  try {
    return await work(conntrack);
  } finally {
    conntrack.close();
  }
}

describe('a TCP connection that policy comes to deny', () => {
  const dial = { from: web, to: db, port: 5432 };
  const deletion = async () => {
    const found = await tracked(web, db);
    expect(found).toHaveLength(1);
    expect(await withConntrack(conntrack => conntrack.delete(found))).toBe(1);
  };

  test('lives on when only the set changes', async () => {
    await enforce(withoutGuard(rulesFor(dbIngress('web'))).tables);
    const call = await phones.tcp(dial);
    await enforce(withoutGuard(rulesFor(dbIngress('api'))).tables);
    expect(await answers(call)).toBe(true);
    await expect(phones.tcp({ ...dial, port: 5433 })).rejects.toThrow('cannot connect');
  });

  test('comes back when it is deleted and tracking is loose: what the server sends makes a new one', async () => {
    await enforce(withoutGuard(rulesFor(dbIngress('web'))).tables);
    const call = await phones.tcp(dial);
    await enforce(withoutGuard(rulesFor(dbIngress('api'))).tables);
    await deletion();
    expect(await reaches(call.client, call.server)).toBe(false);
    expect(await reaches(call.server, call.client)).toBe(true);
    expect(await answers(call, 3000)).toBe(true);
    expect(await tracked(db, web)).toHaveLength(1);
  });

  test('is cut when it is deleted and tracking is strict', async () => {
    await enforce(withoutGuard(rulesFor(dbIngress('web'))).tables);
    setLoose(false);
    const call = await phones.tcp(dial);
    await enforce(withoutGuard(rulesFor(dbIngress('api'))).tables);
    await deletion();
    call.server.say('hello');
    expect(await reaches(call.client, call.server, 1500)).toBe(false);
    expect([...(await tracked(db, web)), ...(await tracked(web, db))]).toEqual([]);
  });

  test('is cut in both directions when it is deleted and the guard stands', async () => {
    await enforce(rulesFor(dbIngress('web')).tables);
    const call = await phones.tcp(dial);
    await enforce(rulesFor(dbIngress('api')).tables);
    await deletion();
    expect(await reaches(call.server, call.client)).toBe(false);
    expect(await reaches(call.client, call.server)).toBe(false);
    expect([...(await tracked(db, web)), ...(await tracked(web, db))]).toEqual([]);
  });
});

describe('the guard', () => {
  test('has an allowed connection that conntrack forgot go on once the end that opened it speaks', async () => {
    await enforce(rulesFor(dbIngress('web')).tables);
    const call = await phones.tcp({ from: web, to: db, port: 5432 });
    forgetConnections(lab.nodeNamespace('n1'));
    expect(await reaches(call.server, call.client)).toBe(false);
    expect(await reaches(call.client, call.server)).toBe(true);
    expect(await reaches(call.server, call.client, 3000)).toBe(true);
  });

  test('changes nothing for pods without policies, and for what the node itself opened', async () => {
    await enforce(rulesFor(dbIngress('web')).tables);
    const others = await phones.tcp({ from: web, to: api, port: 80 });
    const probe = await phones.tcp({ from: node, to: db, port: 8080 });
    forgetConnections(lab.nodeNamespace('n1'));
    expect(await reaches(others.server, others.client)).toBe(true);
    expect(await answers(others)).toBe(true);
    expect(await answers(probe, 3000)).toBe(true);
  });
});

describe('conntrack over netlink', () => {
  const ends = async (about: readonly Address[] | 'all') =>
    withConntrack(async conntrack => {
      const found = new Set<string>();
      const read = conntrack.read(
        about,
        () => true,
        ({ flow }) => found.add(`${flow.from} ${flow.to}`),
      );
      await read;
      return [...found].sort();
    });

  test('reads all connections, or those of one end whichever it is, by the kernel or by itself', async () => {
    await enforce(rulesFor().tables);
    await phones.udp({ from: web, to: db, port: 53 });
    await phones.tcp({ from: api, to: web, port: 80 });
    await phones.tcp({ from: api, to: far, port: 80 });
    const all = [`${api} ${far}`, `${api} ${web}`, `${web} ${db}`].sort();
    expect(await ends('all')).toEqual(all);
    expect(await ends([web])).toEqual([`${api} ${web}`, `${web} ${db}`].sort());
    const many = ['10.3.0.1', '10.3.0.2', '10.3.0.3', '10.3.0.4'].map(address);
    expect(await ends([db, ...many])).toEqual([`${web} ${db}`]);
    expect(await ends(many)).toEqual([]);
  });

  test('has the kernel choose by an IPv6 address too', async () => {
    await enforce(rulesFor().tables);
    const [web6, db6] = [address('fd01::1'), address('fd01::3')];
    await phones.udp({ from: web6, to: db6, port: 53 });
    expect(await ends([address('fd01::1')])).toEqual([`${web6} ${db6}`]);
    expect(await ends([db6])).toEqual([`${web6} ${db6}`]);
    expect(await ends([address('fd01::2')])).toEqual([]);
  });

  test('has the kernel choose where only a few addresses are asked for', async () => {
    await enforce(rulesFor().tables);
    await phones.udp({ from: web, to: db, port: 53 });
    await phones.udp({ from: api, to: far, port: 53 });
    const shown: string[] = [];
    const look = (about: readonly Address[]) =>
      withConntrack(conntrack =>
        conntrack.read(
          about,
          ({ from }) => shown.push(from) < 0,
          () => {},
        ),
      );
    await look([db]);
    expect(shown).toEqual([web]);
  });

  test('chooses by itself where the kernel cannot, with the same outcome', async () => {
    await enforce(rulesFor().tables);
    await phones.udp({ from: web, to: db, port: 53 });
    await phones.udp({ from: api, to: far, port: 53 });
    const conntrack = onNode(() => openConntrack({ without: [NO_CONNECTION_FILTER] }));
    const found: string[] = [];
    await conntrack.read(
      [db],
      () => true,
      ({ flow }) => found.push(`${flow.from} ${flow.to}`),
    );
    conntrack.close();
    expect(found).toEqual([`${web} ${db}`]);
  });

  test('walks the table no more often than it must, and not where nothing is tracked', async () => {
    const netns = new Netns();
    const conntrack = netns.run(() => openConntrack());
    const walks = async (about: readonly Address[] | 'all') => {
      const before = conntrack.walks;
      const found: string[] = [];
      await conntrack.read(
        about,
        () => true,
        ({ flow }) => found.push(`${flow.from} ${flow.to}`),
      );
      return [conntrack.walks - before, found.length];
    };
    const trackFrom = (first: number, count: number) =>
      netns.run(() =>
        track(
          Array.from({ length: count }, (_, i) => ({
            from: api,
            sourcePort: first + i,
            to: far,
            port: 80,
            protocol: 'TCP' as const,
          })),
        ),
      );
    try {
      expect(await walks('all')).toEqual([0, 0]);
      expect(await walks([web, db, address('fd01::1')])).toEqual([0, 0]);
      trackFrom(1, 1);
      expect(await walks('all')).toEqual([1, 1]);
      expect(await walks([web, api, address('fd01::1')])).toEqual([1, 1]);
      trackFrom(2, 6_100); // more than is read in the time of four walks
      expect(await walks([web, db, address('fd01::1')])).toEqual([5, 0]);
    } finally {
      conntrack.close();
      netns.close();
    }
  });

  test('deletes what it has read, once', async () => {
    await enforce(rulesFor().tables);
    const call = await phones.udp({ from: web, to: db, port: 53 });
    const [old] = await tracked(web, db);
    await withConntrack(async conntrack => {
      expect(await conntrack.has(old!)).toBe(true);
      expect(await conntrack.delete([old!])).toBe(1);
      expect(await conntrack.has(old!)).toBe(false);
      expect(await conntrack.delete([old!])).toBe(0);
      expect(await answers(call)).toBe(true);
      expect(await tracked(web, db)).toHaveLength(1);
    });
  });

  test('reads about few, and deletes, while it is read about all, and whatever goes wrong there', async () => {
    await enforce(rulesFor().tables);
    const crowd = Array.from({ length: 2_000 }, (_, i) => 1024 + i);
    onNode(() =>
      track(crowd.map(sourcePort => ({ from: api, sourcePort, to: far, port: 80, protocol: 'TCP' }))),
    );
    await phones.udp({ from: web, to: db, port: 53 });
    await withConntrack(async conntrack => {
      const pause = async () => {
        const found: Connection[] = [];
        await conntrack.read(
          [web],
          one => one.to === db,
          one => found.push(one),
        );
        expect(await conntrack.delete(found)).toBe(1);
        throw new Error('as the test wants it');
      };
      let parts = 0;
      const everything = conntrack.read(
        'all',
        () => true,
        () => {},
        () => (parts++ === 0 ? pause() : undefined),
      );
      await expect(everything).rejects.toThrow('as the test wants it');
    });
    expect(await tracked(web, db)).toEqual([]);
    expect(await ends('all')).toContain(`${api} ${far}`);
  });
});

describe('sluice trace', () => {
  const trace = (...words: string[]) => {
    const { status, stdout, stderr } = onNode(() => sluice('trace', ...words));
    return { status, stdout, stderr };
  };

  test('walks what stands, names pods by it, and knows open connections', async () => {
    await enforce(rulesFor(dbIngress('web')).tables);
    const call = await phones.tcp({ from: web, to: db, port: 5432 });
    const {
      from: opener,
      verdict,
      hook,
      steps,
      tracked,
      ...rest
    } = JSON.parse(trace('10.1.0.1', 'shop/db:5432', '-o', 'json').stdout);
    expect([opener.address, rest.to.pod, hook, verdict]).toEqual([web, 'shop/db', 'forward', 'accept']);
    expect(steps.at(-1)).toMatchObject({ verdict: 'accept', comment: 'shop/db ingress[0]' });
    expect(tracked).toEqual([{ sourcePort: expect.any(Number) }]);
    await enforce(rulesFor(dbIngress()).tables);
    const { stdout } = trace('10.1.0.1', 'shop/db:5432');
    expect(stdout).toMatch(/^drop {4}10\.1\.0\.1 -> shop\/db \(10\.1\.0\.3\):5432\/TCP/);
    expect(stdout).toContain('# isolated by shop/db');
    expect(stdout).toContain('knows 1, from port');
    expect(await answers(call)).toBe(true);
  });

  test('calls accepted what was answered, and nothing else', async () => {
    await enforce(rulesFor(dbIngress('web')).tables);
    phones.unanswered({ from: web, to: db, port: 53 });
    expect(await tracked(web, db)).toMatchObject([{ unreplied: true }]);
    await enforce(rulesFor(dbIngress()).tables);
    const asked = ['10.1.0.1', 'shop/db:53/UDP'];
    expect(JSON.parse(trace(...asked, '-o', 'json').stdout)).toMatchObject({
      verdict: 'drop',
      tracked: [{ unreplied: true }],
    });
    const unanswered = trace(...asked).stdout;
    expect(unanswered).toMatch(
      /knows 1, from port \d+, not answered yet: judged like new ones until they are/,
    );
    expect(unanswered).not.toContain('accepted before any policy');
    await enforce(rulesFor(dbIngress('web')).tables);
    await phones.udp({ from: web, to: db, port: 53 });
    const both = trace(...asked).stdout;
    expect(both).toMatch(/knows 1, from port \d+: their packets are accepted before any policy is asked\n/);
    expect(both).toContain('not answered yet');
  });

  test('says what it cannot know', async () => {
    await enforce(rulesFor(dbIngress('web')).tables);
    const { status, stderr } = trace('shop/web', 'shop/db:5432');
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining(
        'there is no pod shop/web (for a Service, ask for a pod behind it); the rules name only',
      ),
    ]);
  });

  test('says whether policy agrees', async () => {
    await withManifests(async folder => {
      const asked = ['shop/web', 'shop/db:5432', '--manifests', folder, '--node', 'n1'];
      await enforce(rulesFor(dbIngress()).tables);
      const right = trace(...asked);
      expect([right.status, right.stdout]).toEqual([
        0,
        expect.stringContaining('agrees: it denies the connection\n'),
      ]);
      await enforce(rulesFor().tables);
      const wrong = trace(...asked);
      expect([wrong.status, wrong.stdout]).toEqual([
        1,
        expect.stringContaining('disagrees: this node should drop it'),
      ]);
    });
  });

  test('does not say accept of what another node judges and denies', async () => {
    await withManifests(async folder => {
      await enforce(compile(stateOf([...CAST, dbIngress()]), 'n2').tables);
      const asN2 = (...words: string[]) => trace(...words, '--manifests', folder, '--node', 'n2');

      const oneEnd = asN2('shop/far', 'shop/db:5432');
      expect([oneEnd.status, oneEnd.stderr]).toEqual([0, '']);
      expect(oneEnd.stdout).toMatch(
        /^denied elsewhere {2}shop\/far .*\n +n2 lets it pass; n1 enforces policy at the other end and denies it\n/,
      );
      expect(oneEnd.stdout).toMatch(/shop\/db .*ingress +on n1: its own node enforces this\n/);
      expect(oneEnd.stdout).toContain('agrees: it denies the connection, on n1\n');

      const neither = asN2('shop/web', 'shop/db:5432');
      expect([neither.status, neither.stderr]).toEqual([0, '']);
      expect(neither.stdout).toMatch(
        /^not judged here {2}shop\/web .*\n +neither end is a pod of n2: n1 enforces policy, which denies it\n/,
      );
      expect(neither.stdout).toContain('not for n2 to enforce: it denies the connection, on n1\n');
      expect(JSON.parse(asN2('shop/web', 'shop/db:5432', '-o', 'json').stdout)).toMatchObject({
        verdict: 'accept',
        node: 'n2',
        outcome: 'not-judged-here',
        elsewhere: [
          { node: 'n1', direction: 'egress', verdict: 'allow' },
          { node: 'n1', direction: 'ingress', verdict: 'deny' },
        ],
        explain: { verdict: 'deny' },
      });
      expect(asN2('shop/far', 'shop/web:80').stdout).toMatch(/^accept {2}shop\/far /);
    });
  });

  test('says that NAT is not followed, where an address may stand for a pod', async () => {
    await withManifests(async folder => {
      const asked = ['shop/web', '10.96.0.10:80', '--manifests', folder, '--node', 'n1'];
      expect(trace(...asked).stdout).toMatch(/\n\nNAT is not followed: .* from 10\.96\.0\.10 port 80 .*\n$/);
      expect(JSON.parse(trace(...asked, '-o', 'json').stdout).note).toContain('NAT is not followed');
    });
  });
});

async function withManifests(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-trace-'));
  try {
    const list = { apiVersion: 'v1', kind: 'List', items: MANIFESTS };
    writeFileSync(join(folder, 'all.json'), JSON.stringify(list));
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const MANIFESTS = [
  ...(
    [
      ['web', 'n1', web],
      ['db', 'n1', db],
      ['far', 'n2', far],
    ] as const
  ).map(([name, nodeName, ip]) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec: { nodeName, containers: [{ name: 'main', image: 'x' }] },
    status: { phase: 'Running', podIPs: [{ ip }] },
  })),
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'db', namespace: 'shop' },
    spec: { podSelector: { matchLabels: { app: 'db' } }, policyTypes: ['Ingress'] },
  },
];

/** An agent of node n1 in this process, and what it says. */
class Following {
  readonly lines: string[] = [];
  readonly #stop = new AbortController();
  readonly live: LiveConnections | undefined;
  readonly #agent: Agent;
  readonly #ended: Promise<void>;

  constructor(what: 'cut' | 'keep', events: readonly ClusterEvent[]) {
    const say = (_: object, message: string) => void this.lines.push(message);
    const log = { debug: say, info: say, warn: say, error: say };
    const ownAddresses = () => new Set([node, address('fd18::1')]);
    this.live =
      what === 'cut'
        ? new LiveConnections({ conntrack: onNode(() => openConntrack()), ownAddresses, log })
        : undefined;
    this.#agent = new Agent({
      open: () => onNode(() => openNftKernel()),
      engine: () => new Incremental('n1'),
      passes: what === 'cut' ? [] : [withoutGuard],
      log,
      observers: [{ committed: committed => this.live?.committed(committed) }],
    });
    this.#agent.apply(events);
    this.#ended = this.#agent.run(this.#stop.signal);
  }

  /** Until the next line about rules, and the look that it led to. */
  async settled(): Promise<string[]> {
    const deadline = performance.now() + PATIENT.timeout;
    while (!this.lines.some(line => /rules|nothing to change/.test(line))) {
      if (performance.now() > deadline) throw new Error('the agent says nothing');
      await setTimeout(2);
    }
    await this.live?.settled();
    return this.lines.splice(0);
  }

  async change(...events: ClusterEvent[]): Promise<string[]> {
    this.#agent.apply(events);
    return this.settled();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    this.live?.close();
  }
}

describe('the agent', () => {
  let agent: Following;
  const start = async (what: 'cut' | 'keep', ...events: ClusterEvent[]) => {
    agent = new Following(what, [...CAST, ...events]);
    await agent.settled();
  };
  /** Until what was there at the start has been looked at once more. */
  const lookedAgain = () => expect.poll(() => agent.live!.counts.scans, PATIENT).toBe(2);
  afterEach(() => agent.stop());

  test.each(['ip', 'ip6'])(
    'cuts the one of two connections that a policy comes to deny (%s)',
    async family => {
      const at = (v4: string, v6: string) => address(family === 'ip' ? v4 : v6);
      const to = at('10.1.0.3', 'fd01::3');
      await start('cut', dbIngress('web', 'far'));
      const denied = await phones.tcp({ from: at('10.1.0.1', 'fd01::1'), to, port: 5432 });
      const allowed = await phones.tcp({ from: at('10.2.0.1', 'fd02::1'), to, port: 5433 });
      const lines = await agent.change(dbIngress('far'));
      expect(lines.at(-1)).toMatch(
        /^cut 1 connection that policy denies now: shop\/web -> shop\/db:5432\/TCP$/,
      );
      expect(await reaches(denied.server, denied.client)).toBe(false);
      expect(await reaches(denied.client, denied.server)).toBe(false);
      expect(await answers(allowed)).toBe(true);
    },
  );

  test('keeps an allowed connection through any number of edits', async () => {
    await start('cut', dbIngress('web'), egress('web', 'db'));
    const call = await phones.tcp({ from: web, to: db, port: 5432 });
    for (const others of [['web', 'far'], ['web'], ['api', 'web'], ['web', 'nobody']]) {
      await agent.change(dbIngress(...others));
      await agent.change(egress('web', ...others, 'db'));
      expect(await answers(call)).toBe(true);
    }
    expect(agent.live!.counts.cut).toBe(0);
    expect(agent.live!.counts.scans).toBeGreaterThan(3);
  });

  test('reads nothing for a change that loosens', async () => {
    await start('cut', dbIngress('web'));
    await lookedAgain();
    const { scans } = agent.live!.counts;
    await agent.change(dbIngress('web', 'far'));
    await agent.change(shopPod('shop/web2', 'n2', ['10.2.0.9'], { app: 'web' }));
    await agent.change({ type: 'policy', key: 'NetworkPolicy shop/db' });
    await agent.change(dbIngress('api')); // It tightens: scans are made in the order of the changes.
    expect(agent.live!.counts.scans).toBe(scans + 1);
  });

  test('cuts what nobody has answered yet, so that an answer comes to nothing', async () => {
    const closed = shopPolicy('web', {
      podSelector: { matchLabels: { app: 'web' } },
      policyTypes: ['Ingress'],
    });
    await start('cut', dbIngress('web'), closed);
    const call = phones.asked({ from: web, to: db, port: 53 });
    expect(await until(() => call.server.received() !== '' || undefined, 3000)).toBe(true);
    await agent.change(dbIngress('api'));
    expect(await tracked(web, db)).toEqual([]);
    expect(await reaches(call.server, call.client)).toBe(false);
    expect(await reaches(call.client, call.server)).toBe(false);
  });

  test('cuts what came to be tracked only after the first look', async () => {
    await start('cut', dbIngress('web'));
    await lookedAgain();
    const { scans } = agent.live!.counts;
    await agent.change(dbIngress('api'));
    expect(agent.live!.counts.scans).toBe(scans + 1);
    onNode(() => track([{ from: web, sourcePort: 40_000, to: db, port: 5432, protocol: 'TCP' }]));
    expect(await tracked(web, db)).toHaveLength(1);
    await expect.poll(() => tracked(web, db), PATIENT).toEqual([]);
  });

  test('cuts what egress denies, to another node and to its own', async () => {
    await start('cut', egress('web', 'far'));
    const remote = await phones.tcp({ from: web, to: far, port: 80 });
    await agent.change(egress('web'));
    expect(await reaches(remote.server, remote.client)).toBe(false);
    expect(await reaches(remote.client, remote.server)).toBe(false);
    phones.close(); // or what was said and not heard comes again, and is tracked again, once policy lets it
    await agent.change({ type: 'policy', key: 'NetworkPolicy shop/web' });
    const own = await phones.tcp({ from: web, to: node, port: 9100 });
    const lines = await agent.change(egress('web'));
    expect(lines.at(-1)).toContain(
      'cut 1 connection that policy denies now: shop/web -> 172.18.0.1:9100/TCP',
    );
    expect(await reaches(own.server, own.client)).toBe(false);
    expect(await reaches(own.client, own.server)).toBe(false);
  });

  test('never cuts what its own node opened (N43), from whatever address', async () => {
    await start('cut', dbIngress('web'));
    const probe = await phones.tcp({ from: node, to: db, port: 8080 });
    await agent.change(dbIngress());
    expect(await answers(probe)).toBe(true);
    expect(agent.live!.counts.cut).toBe(0);
  });

  test('cuts UDP', async () => {
    await start('cut', dbIngress('web'));
    const call = await phones.udp({ from: web, to: db, port: 53 });
    const lines = await agent.change(dbIngress('api'));
    expect(lines.at(-1)).toContain('shop/db:53/UDP');
    expect(await reaches(call.client, call.server)).toBe(false);
  });

  test('judges a connection through a Service by the pod that answers it', async () => {
    const service = { address: address('198.18.0.1'), port: 80 };
    const back = (port: number) => ({ address: db, port });
    installServices(lab, [{ front: service, protocol: 'TCP', back: back(5432) }]);
    await start('cut', dbIngress('web', 'api'));
    const denied = await phones.tcp({ from: web, to: db, port: 5432, via: service });
    expect((await tracked(web, db)).map(({ dialled, flow }) => [dialled, flow.to, flow.port])).toEqual([
      ['198.18.0.1', db, 5432],
    ]);
    await agent.change(dbIngress('api'));
    expect(await reaches(denied.server, denied.client)).toBe(false);
    expect(await reaches(denied.client, denied.server)).toBe(false);
    expect(await tracked(web, db)).toEqual([]);
    installServices(lab, []);
  });

  test('follows a pod that loses the label that let it in', async () => {
    await start('cut', dbIngress('web'));
    const call = await phones.tcp({ from: web, to: db, port: 5432 });
    await agent.change(shopPod('shop/web', 'n1', ['10.1.0.1', 'fd01::1'], { app: 'stranger' }));
    expect(await answers(call)).toBe(false);
  });

  test('cuts what a set allows no more that is made anew because it outgrew its room', async () => {
    await start('cut', dbIngress('web', 'crowd'));
    const call = await phones.tcp({ from: web, to: db, port: 5432 });
    const crowd = Array.from({ length: 400 }, (_, i) =>
      shopPod(`shop/crowd-${i}`, 'n2', [`10.2.${1 + (i >> 7)}.${1 + (i & 127)}`], { app: 'web' }),
    );
    await agent.change(...crowd, shopPod('shop/web', 'n1', ['10.1.0.1', 'fd01::1'], { app: 'stranger' }));
    expect(await answers(call)).toBe(false);
  });

  test('cuts at its start what was opened while nobody enforced policy', async () => {
    await enforce(rulesFor().tables); // Tracks connections, and denies none.
    const call = await phones.tcp({ from: web, to: db, port: 5432 });
    await start('cut', dbIngress('api'));
    expect(await answers(call)).toBe(false);
  });

  test('has what was open before anybody tracked connections go on once the end that opened it speaks', async () => {
    const call = await phones.tcp({ from: web, to: db, port: 5432 });
    await start('cut', dbIngress('web'));
    expect(await answers(call, 3000)).toBe(true);
    expect(agent.live!.counts.cut).toBe(0);
  });

  test('leaves everything open where it is told to keep', async () => {
    await start('keep', dbIngress('web'));
    const call = await phones.tcp({ from: web, to: db, port: 5432 });
    await agent.change(dbIngress('api'));
    expect(await answers(call)).toBe(true);
    forgetConnections(lab.nodeNamespace('n1'));
    expect(await reaches(call.server, call.client)).toBe(true);
  });
});
