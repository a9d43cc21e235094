/** The laboratory itself: if it were wrong, no test with real packets would mean anything. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { forgetConnections } from '../../bench/lab/conntrack.ts';
import { buildLab, type Lab, sweepLabs } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import type { Probe } from '../../bench/lab/probe/attempt.ts';
import { type ProbeOutcome, probe } from '../../bench/lab/probe/probe.ts';
import { installServices } from '../../bench/lab/services.ts';
import { address, type Topology } from '../../bench/lab/topology.ts';

const topology: Topology = {
  nodes: [
    { name: 'one', addresses: [address('192.168.0.1'), address('fd01::1')] },
    { name: 'two', addresses: [address('192.168.0.2'), address('fd01::2')] },
  ],
  pods: Array.from({ length: 8 }, (_, i) => ({
    name: `shop/p${i}`,
    node: i % 2 ? 'one' : 'two',
    addresses: [address(`10.0.0.${i}`), address(`fd00::${i + 1}`)],
  })),
  outside: [address('169.254.169.254'), address('2001:db8::1')],
};
const everyone = [...topology.nodes, ...topology.pods, { name: 'outside', addresses: topology.outside }];

/** From everyone to everyone over both families, but not from oneself. */
function everyPair(protocol: Probe['protocol'], port?: number): Probe[] {
  return everyone.flatMap(from =>
    everyone
      .filter(to => to !== from)
      .flatMap(to =>
        from.addresses.map((address, family) => ({
          from: address,
          to: to.addresses[family]!,
          protocol,
          ...(port === undefined ? {} : { port }),
        })),
      ),
  );
}

const [p0, p1] = topology.pods.map(pod => pod.addresses);
const tcp = (port: number): Probe => ({ from: p0![0]!, to: p1![0]!, protocol: 'TCP', port });

let lab: Lab;
beforeEach(async () => {
  lab = await buildLab(topology);
});
afterEach(() => lab.remove());

const nft = (node: string, script: string) =>
  inNamespace(lab.nodeNamespace(node), () => execFileSync('nft', ['-f', '-'], { input: script }));

const forwardChain = (...rules: string[]) =>
  `table inet t {\nchain f {\n${['type filter hook forward priority 0', 'ct state established,related accept', ...rules].join('\n')}\n}\n}`;

test.each<[Probe['protocol'], number?]>([['TCP', 80], ['UDP', 53], ['SCTP', 9999], ['ICMP'], [47]])(
  'probe() finds every %s flow open, over both families and between all kinds of hosts, where there are no rules',
  async (protocol, port) => {
    const flows = everyPair(protocol, port);
    expect(flows).toHaveLength(11 * 10 * 2);
    expect(closedOf(flows, await probe(lab, flows))).toEqual([]);
  },
);

test.each<[Probe['protocol'], string, number?]>([
  ['TCP', 'tcp dport 80', 80],
  ['UDP', 'udp dport 53', 53],
  ['SCTP', 'sctp dport 9999', 9999],
  ['ICMP', 'meta l4proto { icmp, icmpv6 }'],
])('probe() finds exactly the %s flows closed that a rule drops', async (protocol, match, port) => {
  nft('one', forwardChain(`ip saddr 10.0.0.1 ${match} drop`, `ip6 saddr fd00::2 ${match} drop`));
  const flows = everyPair(protocol, port);
  const dropped = flows.filter(
    ({ from, to }) => p1!.includes(from) && to !== '192.168.0.1' && to !== 'fd01::1',
  );
  expect(dropped).toHaveLength(18);
  expect(closedOf(flows, await probe(lab, flows, { quietMs: 100 }))).toEqual(dropped);
});

test('probe() finds a flow closed whose answer is dropped', async () => {
  nft('one', 'table ip t {\nchain f {\ntype filter hook forward priority 0\nip saddr 10.0.0.1 drop\n}\n}');
  const flows: Probe[] = (['TCP', 'UDP', 'SCTP'] as const).map(protocol => ({ ...tcp(80), protocol }));
  const ping: Probe = { from: p0![0]!, to: p1![0]!, protocol: 'ICMP' };
  expect(await probe(lab, [...flows, ping], { quietMs: 100 })).toEqual(Array(4).fill('closed'));
});

test('probe() throws where something other than silence stands in the way', async () => {
  nft('one', forwardChain('ip daddr 10.0.0.1 reject with tcp reset'));
  await expect(probe(lab, [tcp(80)])).rejects.toThrow('probe 10.0.0.0 -> 10.0.0.1 TCP port 80: ECONNREFUSED');
});

test('probe() tries a matrix of 8 pods with 4 protocols and both families, the denied ones included', async () => {
  nft('one', forwardChain('ip daddr 10.0.0.1 drop', 'ip6 daddr fd00::2 drop'));
  const flows = [everyPair('TCP', 80), everyPair('UDP', 80), everyPair('SCTP', 80), everyPair('ICMP')].flat();
  const outcomes = await probe(lab, flows, { quietMs: 300 });
  expect(closedOf(flows, outcomes)).toHaveLength(9 * 4 * 2);
});

test('probe() repeated a hundred times never passes as part of an old connection', async () => {
  const flows: Probe[] = (['TCP', 'UDP', 'SCTP'] as const).map(protocol => ({ ...tcp(80), protocol }));
  const ping: Probe = { from: p0![0]!, to: p1![0]!, protocol: 'ICMP' };
  nft('one', forwardChain('ct state invalid drop'));
  for (let i = 0; i < 100; i++)
    expect(await probe(lab, [...flows, ping])).toEqual(['open', 'open', 'open', 'open']);
  nft('one', `flush chain inet t f\n${forwardChain('ip daddr 10.0.0.1 drop')}`);
  const after = await probe(
    lab,
    Array(25)
      .fill([...flows, ping])
      .flat(),
    { quietMs: 100 },
  );
  expect(new Set(after)).toEqual(new Set(['closed']));
});

test('forgetConnections() has a node judge a flow anew', async () => {
  const gre: Probe = { from: p0![0]!, to: p1![0]!, protocol: 47 };
  nft('one', forwardChain());
  expect(await probe(lab, [gre])).toEqual(['open']);
  nft('one', `flush chain inet t f\n${forwardChain('drop')}`);
  expect(await probe(lab, [gre])).toEqual(['open']);
  forgetConnections(lab.nodeNamespace('one'));
  expect(await probe(lab, [gre], { quietMs: 100 })).toEqual(['closed']);
});

test('installServices() leads a connection to the backend, and policy sees the backend', async () => {
  const front = [address('10.96.0.1'), address('fd96::1')];
  installServices(
    lab,
    (['TCP', 'UDP', 'SCTP'] as const).flatMap(protocol =>
      front.map((at, i) => ({
        front: { address: at, port: 80 },
        protocol,
        back: { address: p1![i]!, port: 8080 },
      })),
    ),
  );
  const flows: Probe[] = (['TCP', 'UDP', 'SCTP'] as const).flatMap(protocol =>
    front.map((at, i) => ({
      from: p0![i]!,
      to: p1![i]!,
      port: 8080,
      protocol,
      via: { address: at, port: 80 },
    })),
  );
  expect(await probe(lab, flows)).toEqual(Array(6).fill('open'));
  nft('one', forwardChain('ip daddr 10.0.0.1 th dport 8080 drop', 'ip6 daddr fd00::2 th dport 8080 drop'));
  expect(await probe(lab, flows, { quietMs: 100 })).toEqual(Array(6).fill('closed'));
});

test('installServices() leads a pod to itself, past the policy of its node', async () => {
  const [v4, v6] = p1!;
  const self = [
    { front: { address: address('10.96.0.1'), port: 80 }, back: { address: v4!, port: 8080 } },
    { front: { address: address('fd96::1'), port: 80 }, back: { address: v6!, port: 8080 } },
  ];
  const services = self.flatMap(ends => (['TCP', 'UDP'] as const).map(protocol => ({ ...ends, protocol })));
  installServices(lab, services);
  const flows: Probe[] = services.map(({ front, back, protocol }) => ({
    from: back.address,
    to: back.address,
    port: 8080,
    protocol,
    via: front,
  }));
  expect(await probe(lab, flows)).toEqual(['open', 'open', 'open', 'open']);
  nft('one', forwardChain('ip saddr 10.0.0.1 drop', 'ip6 saddr fd00::2 drop'));
  expect(await probe(lab, flows, { quietMs: 100 })).toEqual(['closed', 'closed', 'closed', 'closed']);
});

test('remove() leaves nothing, and may be repeated', () => {
  expect(namespaces(lab.names.outside)).toHaveLength(1);
  lab.remove();
  lab.remove();
  expect(namespaces(lab.names.outside.replace('.outside', '.'))).toEqual([]);
});

test('buildLab() takes back what it has made when it fails', async () => {
  const twice: Topology = { ...topology, pods: [...topology.pods, topology.pods[0]!] };
  await expect(buildLab(twice, { prefix: 'sluice-twice' })).rejects.toThrow('ip -batch');
  expect(namespaces('sluice-twice')).toEqual([]);
});

const CHILD = `
  const { buildLab } = await import('${new URL('../../bench/lab/lab.ts', import.meta.url).href}');
  await buildLab({ nodes: [{ name: 'n', addresses: [] }], pods: [], outside: [] });
  process.stdout.write(String(process.pid));`;

test.each<[string, string, number | NodeJS.Signals]>([
  ['returns', '', 0],
  ['throws', 'throw new Error()', 1],
  ['exits', 'process.exit(3)', 3],
  ['is interrupted', 'process.kill(process.pid, "SIGINT"); setInterval(() => {}, 1000)', 'SIGINT'],
  ['is terminated', 'process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000)', 'SIGTERM'],
])('a laboratory goes with the process that built it when that %s', (_, ending, outcome) => {
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', CHILD + ending], {
    encoding: 'utf8',
  });
  expect(child.status ?? child.signal, child.stderr).toBe(outcome);
  expect(namespaces(`sluice-lab-${child.stdout.trim()}-`)).toEqual([]);
});

test('sweepLabs() removes what a killed process left, and spares the living', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', `${CHILD}setInterval(() => {}, 1000)`]);
  const [pid] = await once(child.stdout.setEncoding('utf8'), 'data');
  const left = () => namespaces(`sluice-lab-${pid.trim()}-`);
  sweepLabs();
  expect(left()).toHaveLength(2);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(left()).toHaveLength(2);
  sweepLabs();
  expect(left()).toEqual([]);
  expect(existsSync(lab.namespaceOf(p0![0]!))).toBe(true);
});

function closedOf(flows: readonly Probe[], outcomes: readonly ProbeOutcome[]): Probe[] {
  return flows.filter((_, index) => outcomes[index] === 'closed');
}

function namespaces(prefix: string): string[] {
  return readdirSync('/run/netns').filter(name => name.startsWith(prefix));
}
