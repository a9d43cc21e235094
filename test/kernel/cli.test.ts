/** What people ask on a node: every command as a process of its own, against a live agent. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { StatusKeeper } from '../../src/agent/status.ts';
import { serveRpc } from '../../src/api/rpc/server.ts';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { nodeReader } from '../../src/daemon/serve/view.ts';
import { MAIN } from '../support/agent/sluice.ts';
import { testView } from '../support/agent/view.ts';
import { wrongWith } from '../support/questions/schema.ts';
import { Netns } from './netns.ts';
import { sluiceAside } from './sluiceaside.ts';

const NODE = 'n1';

let netns: Netns;
let folder: string;
let manifests: string;
let socket: string;
let agent: ChildProcess | undefined;

function setUp(): void {
  netns = new Netns();
  netns.exec('sh', ['-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward; ip link set lo up']);
  folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  manifests = join(folder, 'manifests');
  socket = join(folder, 'sluice.sock');
  mkdirSync(manifests);
  write(POLICY);
}

async function tearDown(): Promise<void> {
  if (agent !== undefined) await stop(agent);
  agent = undefined;
  netns.close();
  rmSync(folder, { recursive: true });
}

const pod = (name: string, ip: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', labels: { app: name } },
  spec: { nodeName: NODE, containers: [{ name: 'main', image: 'i' }] },
  status: { phase: 'Running', podIPs: [{ ip }] },
});
const POLICY = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'db', namespace: 'shop' },
  spec: {
    podSelector: { matchLabels: { app: 'db' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ port: 5432 }] }],
  },
};

function write(policy: object): void {
  const items = [pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), pod('cron', '10.0.0.3'), policy];
  writeFileSync(join(manifests, 'all.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

async function startAgent(...options: string[]): Promise<void> {
  const quiet = ['--log-format', 'json', '--metrics-address', 'none', '--socket', socket];
  const args = [MAIN, 'agent', '--node', NODE, '--manifests', manifests, ...quiet, ...options];
  const child = netns.run(() => spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] }));
  agent = child;
  let errors = '';
  child.stderr!.setEncoding('utf8').on('data', text => {
    errors += text;
  });
  for (const deadline = Date.now() + 30_000; !existsSync(socket); await setTimeout(10))
    if (Date.now() > deadline || child.exitCode !== null) throw new Error(`no agent: ${errors}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

interface Answer {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command as it is run on the node. */
function sluice(...words: string[]): Answer {
  return sluiceIn(netns, [...words, '--socket', socket]);
}

function sluiceIn(where: Netns, words: readonly string[]): Answer {
  const { status, stdout, stderr } = where.run(() =>
    spawnSync(process.execPath, [MAIN, ...words], { encoding: 'utf8' }),
  );
  return { status, stdout, stderr };
}

describe('a live agent', () => {
  beforeAll(() => {
    setUp();
    return startAgent();
  });
  afterAll(tearDown);

  test('says by `sluice status` that the node is ready', () => {
    const { status, stdout } = sluice('status', '-o', 'json');
    const said = JSON.parse(stdout);
    expect([status, said.node, said.ready]).toEqual([0, NODE, true]);
    expect(said.objects).toMatchObject({ pods: 3, policies: 1 });
    expect(said.networkNamespace).toBe(netns.exec('readlink', ['/proc/self/ns/net']).trim());
    expect(sluice('status').stdout).toMatch(/^n1 is ready; the agent has run for \d+ m?s\n/);
  });

  test('prints JSON that is what the schema promises, and `sluice inspect` only what it is asked about', () => {
    for (const words of [
      ['status', '-o', 'json'],
      ['inspect', '-o', 'json'],
      ['inspect', 'shop/db', '-o', 'json'],
      ['inspect', 'dump'],
      ['trace', 'shop/cron', 'shop/db:5432', '-o', 'json'],
      ['trace', 'shop/web', '10.0.0.2:5432/UDP', '-o', 'json'],
    ]) {
      const object = JSON.parse(sluice(...words).stdout);
      expect(wrongWith(object), JSON.stringify(object)).toEqual([]);
    }
    const about = (what: string) =>
      JSON.parse(sluice('inspect', what, '-o', 'json').stdout).pods.map(({ pod }: { pod: string }) => pod);
    expect(about('NetworkPolicy shop/db')).toEqual(['shop/db']);
    expect(about('shop')).toContain('shop/db');
    expect(sluice('inspect', 'shop/nobody')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('no pod of this node is shop/nobody'),
    });
  });

  test('owns its tables by its own name', () => {
    expect(netns.exec('nft', ['list', 'table', 'ip', 'sluice'])).toContain('# progname sluice\n');
  });

  test('gives `sluice explain` its cluster', () => {
    expect(sluice('explain', 'shop/web', 'shop/db:5432').stdout).toMatch(
      /^allow {2}shop\/web \(10\.0\.0\.1\) -> shop\/db \(10\.0\.0\.2\):5432\/TCP\n/,
    );
    expect(sluice('explain', 'shop/cron', 'shop/db:5432').stdout).toMatch(/^deny /);
  });

  test('gives `sluice trace` the names and the expected verdict', () => {
    const allowed = sluice('trace', 'shop/web', 'shop/db:5432');
    expect([allowed.status, allowed.stderr]).toEqual([0, '']);
    expect(allowed.stdout).toMatch(
      /^accept {2}shop\/web \(10\.0\.0\.1\) -> shop\/db \(10\.0\.0\.2\):5432\/TCP\n/,
    );
    expect(allowed.stdout).toContain('agrees: it allows the connection');
    const denied = sluice('trace', 'shop/cron', 'shop/db:5432', '-o', 'json');
    expect(denied.status).toBe(0);
    expect(JSON.parse(denied.stdout)).toMatchObject({
      from: { pod: 'shop/cron' },
      to: { pod: 'shop/db' },
      verdict: 'drop',
      agrees: true,
    });
    expect(sluice('trace', 'shop/nobody', 'shop/db:5432')).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/^sluice: there is no pod shop\/nobody[^;]*\n$/),
    });
  });

  test('is not believed in another network namespace', () => {
    const other = new Netns();
    try {
      const { status, stdout, stderr } = sluiceIn(other, ['inspect', '--socket', socket]);
      expect(stdout).toBe('');
      expect(stderr).toBe(
        `sluice: there are no Sluice rules on this machine, and no agent to compare with: the agent (${socket}) cannot answer: it programs another network namespace; --kubeconfig asks the nodes of a cluster
`,
      );
      expect(status).toBe(2);
    } finally {
      other.close();
    }
  });
});

describe('on a node of its own', () => {
  beforeEach(setUp);
  afterEach(tearDown);

  describe('a live agent', () => {
    beforeEach(() => startAgent());

    test('gives `sluice inspect` the desired state, and the actual one is equal, after an edit too', async () => {
      const { status, stdout } = sluice('inspect');
      expect(stdout).toContain('shop/db  10.0.0.2\n  ingress  accept');
      expect(stdout).toMatch(/\nequal: the actual state is the one desired by the agent's cluster\n$/);
      expect(status).toBe(0);
      write({ ...POLICY, spec: { ...POLICY.spec, policyTypes: ['Ingress', 'Egress'] } });
      // The rules say when the agent has followed, at less cost than a command.
      const selected = () => netns.exec('nft', ['list', 'map', 'ip', 'sluice', 'egress-pods']);
      await expect.poll(selected, { timeout: 60_000 }).toContain('10.0.0.2');
      const edited = JSON.parse(sluice('inspect', '-o', 'json').stdout);
      const isThere = edited.pods.some(({ egress }: { egress?: object }) => egress !== undefined);
      expect([isThere, edited.equal, edited.difference]).toEqual([true, true, []]);
    });

    test('is in one line of `sluice inspect dump`, of which `explain` can be asked when the agent is gone', async () => {
      const beforeMs = Date.now();
      const { status, stdout } = sluice('inspect', 'dump');
      expect([status, stdout.split('\n').length]).toEqual([0, 2]);
      const { at, agent: dumped, kernel } = JSON.parse(stdout);
      expect(Date.parse(at)).toBeGreaterThanOrEqual(beforeMs);
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
      expect(dumped.status).toMatchObject({ node: NODE, ready: true });
      expect(kernel.tables).toContain('comment "shop/db');
      const file = join(folder, 'dump.json');
      writeFileSync(file, stdout);
      await stop(agent!);
      const answer = sluiceIn(netns, ['explain', 'shop/cron', 'shop/db:5432', '--dump', file]);
      expect(answer.stdout).toMatch(/^deny /);
      const after = JSON.parse(sluice('inspect', 'dump').stdout);
      expect(after.agent.missing).toContain('no agent at ');
      expect(after.kernel.tables).toBe(kernel.tables);
    });

    test('leaves its rules when it ends, and the commands say that there is no agent', async () => {
      await stop(agent!);
      expect(agent!.exitCode).toBe(0);
      const nobody = `no agent at ${socket}: there is no such socket`;
      for (const words of [['status'], ['explain', 'shop/web', 'shop/db:5432']]) {
        expect(sluice(...words)).toEqual({ status: 2, stdout: '', stderr: `sluice: ${nobody}\n` });
      }
      const inspected = sluice('inspect');
      expect(inspected.status).toBe(0);
      expect(inspected.stdout).toContain('shop/db  10.0.0.2\n  ingress  accept');
      expect(inspected.stdout).toContain(`\nnot compared: ${nobody}; --manifests DIR`);
      const traced = sluice('trace', '10.0.0.3', 'shop/db:5432');
      expect([traced.status, traced.stdout]).toEqual([0, expect.stringMatching(/^drop /)]);
      expect(traced.stdout).toContain(`\npolicy was not read: ${nobody}\n`);
      expect(sluice('trace', 'shop/cron', 'shop/db:5432').stderr).toBe(
        `sluice: there is no pod shop/cron (for a Service, ask for a pod behind it); the rules name only pods of this node that policies select: give an address, or --manifests DIR --node NAME; ${nobody}\n`,
      );
    });
  });

  describe('a node with a bridge that has no carrier, and a pod whose address another node claims', () => {
    beforeEach(async () => {
      for (const words of [
        'link add br0 type bridge',
        'link add p0 type veth peer name p1',
        'link set p0 master br0 up',
        'address add 10.0.0.254/24 dev br0',
        'link set br0 up',
      ])
        netns.exec('ip', words.split(' '));
      const node = {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: NODE },
        spec: { podCIDRs: ['10.0.0.0/24'] },
      };
      const far = pod('far', '10.9.0.9');
      const liar = pod('liar', '10.9.0.9');
      const younger = { ...liar.metadata, creationTimestamp: '2030-01-01T00:00:00Z' };
      const other = { ...node, metadata: { name: 'n2' }, spec: { podCIDRs: ['10.9.0.0/24'] } };
      const items = [
        node,
        other,
        far,
        { ...liar, metadata: younger, spec: { ...liar.spec, nodeName: 'n2' } },
      ];
      writeFileSync(join(manifests, 'node.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    });

    test.each(['deny', 'allow'])(
      'what an unknown pod sends into a tunnel is denied, where unknown pods are to %s',
      async unknownPods => {
        await startAgent('--unknown-pods', unknownPods);
        const flow = ['10.0.0.77', '10.0.0.254:8472/UDP'];
        expect(sluice('explain', ...flow).stdout).toMatch(/^deny /);
        const { status, stdout } = sluice('trace', ...flow);
        expect([status, stdout]).toEqual([
          0,
          expect.stringMatching(/^drop [\s\S]*agrees: it denies the connection/),
        ]);
      },
    );

    test('what a rule by name allows a pod of another node is undecided, and never denied', async () => {
      const rules = [
        { action: 'Accept', to: [{ domainNames: ['*.example.org'] }] },
        { action: 'Deny', to: [{ networks: ['0.0.0.0/0'] }] },
      ];
      const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, egress: rules };
      const apiVersion = 'policy.networking.k8s.io/v1alpha2';
      const byName = { apiVersion, kind: 'ClusterNetworkPolicy', metadata: { name: 'byname' }, spec };
      writeFileSync(join(manifests, 'byname.json'), JSON.stringify(byName));
      const away = pod('away', '10.9.0.10');
      const there = { ...away, spec: { ...away.spec, nodeName: 'n2' } };
      writeFileSync(join(manifests, 'away.json'), JSON.stringify(there));
      await startAgent();
      const only = 'only the agent of n2 knows which DNS answers shop/away received';
      const { status, stdout } = sluice('trace', 'shop/away', '192.0.2.7:443', '-o', 'json');
      const { outcome, elsewhere, explain, agrees } = JSON.parse(stdout);
      expect([status, outcome, agrees, elsewhere]).toEqual([
        0,
        'not-judged-here',
        true,
        [{ node: 'n2', direction: 'egress', verdict: 'undecided' }],
      ]);
      expect(explain).toMatchObject({ verdict: 'undecided', egress: { verdict: 'undecided', reason: only } });
      expect(wrongWith(JSON.parse(stdout))).toEqual([]);
      const text = sluice('trace', 'shop/away', '192.0.2.7:443').stdout;
      expect(text).toContain(only);
      expect(text).not.toMatch(/it denies|^denied/);
    });

    test("the bridge's address is the node itself to `explain`, to a dump and to `trace`, as it is to the kernel", async () => {
      await startAgent('--unknown-pods', 'deny');
      const dump = join(folder, 'dump.json');
      writeFileSync(dump, sluice('inspect', 'dump').stdout);
      const flows = join(folder, 'flows');
      writeFileSync(
        flows,
        'shop/web 10.0.0.254:80\n10.0.0.254 shop/db:5432\nshop/web 10.0.0.253:80\nshop/cron shop/far:80\n',
      );
      const said = /^allow .*\nallow .*node n1 always.*\ndeny .*\nallow /;
      expect(sluice('explain', '--flows', flows).stdout).toMatch(said);
      expect(sluiceIn(netns, ['explain', '--flows', flows, '--dump', dump]).stdout).toMatch(said);
      for (const [from, to, hook] of [
        ['shop/web', '10.0.0.254:80', 'input'],
        ['10.0.0.254', 'shop/db:5432', 'output'],
      ] as const)
        expect(sluice('trace', from, to).stdout).toMatch(
          new RegExp(`^accept [\\s\\S]*at ${hook}\n[\\s\\S]*agrees: it allows the connection`),
        );
      // The pod of this node keeps its name and its verdict, and what one sends to itself is no matter of rules.
      expect(sluice('trace', 'shop/cron', 'shop/far:80')).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^accept .*shop\/far \(10\.9\.0\.9\)/),
      });
      expect(sluice('trace', 'shop/web', '10.9.0.1:80').stdout).toContain(
        'may be an address of node n2 itself',
      );
      const itself = sluice('trace', 'shop/db', 'shop/db:80');
      expect([itself.status, itself.stdout]).toEqual([0, expect.stringContaining('agrees: it denies')]);
      expect(itself.stdout).toContain('never leaves it');
    });
  });

  test('an agent that leaves open connections alone is held to just that by `sluice inspect`', async () => {
    await startAgent('--live-connections', 'keep');
    expect(sluice('inspect').stdout).toMatch(/\nequal: /);
  });

  test('`sluice inspect` and `sluice trace` say what a kernel lacks that the agent should have filled', async () => {
    const keeper = new StatusKeeper(NODE);
    const { cluster } = await loadManifests(manifests);
    keeper.setSynced();
    keeper.committed({ cluster, ops: [], names: [], tookMs: 1, dumped: true, waitingPods: new Set() });
    const networkNamespace = netns.exec('readlink', ['/proc/self/ns/net']).trim();
    const identity = { networkNamespace, cutsConnections: true };
    const server = await serveRpc({
      socket,
      view: testView({ identity, status: keeper, readHost: nodeReader() }),
    });
    try {
      const [inspected, traced] = await Promise.all(
        [['inspect'], ['trace', 'shop/cron', 'shop/db:5432']].map(words =>
          sluiceAside(netns, [...words, '--socket', socket]),
        ),
      );
      expect(inspected!.code).toBe(1);
      expect(inspected!.stdout).toContain(
        "different: to reach the state desired by the agent's cluster, the kernel needs\n",
      );
      expect(traced!.code).toBe(1);
      expect(traced!.stdout).toContain('disagrees: this node should drop it');
    } finally {
      await server.close();
    }
  });

  test('`sluice uninstall` takes our table away, and nobody else’s', () => {
    netns.exec('nft', ['add table inet sluice-pods-of-others; add table ip sluice']);
    const uninstall = () => sluiceIn(netns, ['uninstall']).stdout;
    expect(uninstall()).toBe('removed table ip sluice\n');
    expect(netns.exec('nft', ['list tables'])).toBe('table inet sluice-pods-of-others\n');
    netns.exec('nft', ['delete table inet sluice-pods-of-others']);
    expect(uninstall()).toBe('nothing to remove\n');
  });

  test('`sluice uninstall` takes away what a newer layout has put up, of which this program can read nothing', () => {
    const newer = [
      'add table ip sluice; add chain ip sluice layout-99; add chain ip sluice later',
      'add counter ip sluice hits; add quota ip sluice most over 25 mbytes; add limit ip sluice few rate 400/minute',
      'add ct helper ip sluice ftp { type "ftp" protocol tcp; }; add synproxy ip sluice proxy mss 1460 wscale 7',
      'add map ip sluice objects { type ipv4_addr : counter; }; add element ip sluice objects { 10.0.0.1 : "hits" }',
      'add set ip sluice seen { type ipv4_addr . mark; flags interval, timeout; timeout 5m; counter; }',
      'add element ip sluice seen { 10.0.0.0/24 . 3 timeout 1m comment "x" }',
      'add rule ip sluice later jhash ip saddr mod 4 vmap { 0 : drop, 1-2 : accept }',
      'add chain ip sluice first { type filter hook prerouting priority -1000; }',
      'add rule ip sluice first numgen inc mod 3 vmap { 0 : drop, 1 : jump later }',
      'add rule ip sluice first ct count over 3 osf name "Linux" counter name hits quota name "most" limit name "few" drop',
      'add rule ip sluice first ip saddr . tcp dport { 10.0.0.1-10.0.0.9 . 1-3 } tproxy to :3 notrack',
      'add chain ip sluice source { type nat hook postrouting priority 100; }; add rule ip sluice source masquerade random',
      'add table ip6 sluice { flags dormant; }; add table bridge sluice',
      'add table arp sluice; add chain arp sluice layout-99',
      'add table inet sluice; add chain inet sluice in { type filter hook input priority 0; policy drop; }',
      'add table netdev sluice; add chain netdev sluice in { type filter hook ingress device lo priority 0; }',
      'add chain inet sluice layout-99; add chain netdev sluice layout-99',
      'add table inet sluice-of-others',
    ];
    for (const line of newer) netns.exec('nft', [line]);
    const { stdout } = sluiceIn(netns, ['uninstall']);
    expect(
      stdout
        .replace(/^removed /, '')
        .trim()
        .split(', '),
    ).toEqual(['ip', 'ip6', 'bridge', 'inet', 'arp', 'netdev'].map(family => `table ${family} sluice`));
    expect(netns.exec('nft', ['list tables'])).toBe('table inet sluice-of-others\n');
  });

  test('`sluice uninstall` leaves tables of the same name that others made in families of theirs', () => {
    const foreign = ['inet', 'arp', 'netdev'].map(family => `table ${family} sluice`);
    for (const table of foreign)
      netns.exec('nft', [`add ${table}; add chain ${table.slice(6)} layout-of-mine`]);
    expect(sluiceIn(netns, ['uninstall']).stdout).toBe('nothing to remove\n');
    expect(netns.exec('nft', ['list tables']).trim().split('\n').sort()).toEqual(foreign.toSorted());
    for (const table of foreign) netns.exec('nft', [`delete ${table}`]);
  });

  test('`sluice uninstall` removes what it may where a table of a newer layout has an owner, and says which', async () => {
    for (const family of ['inet', 'netdev'])
      netns.exec('nft', [`add table ${family} sluice; add chain ${family} sluice layout-99`]);
    netns.exec('nft', ['add table ip sluice']);
    const owner = netns.run(() => spawn('nft', ['-i'], { stdio: ['pipe', 'pipe', 'inherit'] }));
    const list = () => netns.exec('nft', ['list tables']);
    owner.stdin.write('add table arp sluice { flags owner; }; add chain arp sluice layout-99\n');
    await vi.waitFor(() => expect(list()).toContain('arp'), 30_000);
    const { status, stdout, stderr } = sluiceIn(netns, ['uninstall']);
    expect(stdout).toBe('removed table ip sluice, table inet sluice, table netdev sluice\n');
    expect([status, stderr]).toEqual([expect.any(Number), expect.stringContaining('table arp sluice')]);
    expect([status === 0, list()]).toEqual([false, 'table arp sluice\n']);
    owner.stdin.end();
    await vi.waitFor(() => expect(list()).toBe(''), 30_000);
  });

  test('`sluice uninstall --after-agent` goes on at the mark of an agent that was removed, and takes it away too', () => {
    netns.exec('nft', ['add table ip sluice; add chain ip sluice agent-removed']);
    const { stdout } = sluiceIn(netns, ['uninstall', '--after-agent', '3600']);
    expect(stdout).toBe('removed table ip sluice\n');
  });

  test('and without a mark when that time is over', () => {
    netns.exec('nft', ['add table ip sluice']);
    expect(sluiceIn(netns, ['uninstall', '--after-agent', '1']).stdout).toBe('removed table ip sluice\n');
  });
});
