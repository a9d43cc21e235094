import { expect, test } from 'vitest';
import { FakeKernel } from '../../test/support/kernel/fake.ts';
import type { Address, Family } from '../model/address.ts';
import { type Cluster, ClusterState, type Node } from '../model/cluster.ts';
import type { HostPortMapping } from '../model/hostport.ts';
import { hostPortEvents } from '../model/hostportevents.ts';
import { formatChain } from '../nft/format/format.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { podLinksIn } from './attachedpods.ts';
import { compile } from './compile.ts';
import { hostPortsIn } from './hostports.ts';
import { Incremental } from './live/incremental.ts';

const NOTHING: Ruleset = { tables: new Map() };
const WEB: HostPortMapping = {
  protocol: 'TCP',
  hostPort: 80,
  pod: '10.0.1.5' as Address,
  podPort: 8080,
  owner: 'shop/web',
};
const DNS: HostPortMapping = {
  protocol: 'UDP',
  hostPort: 53,
  pod: 'fd00:1::5' as Address,
  podPort: 53,
  owner: 'kube-system/dns',
};

test('what leaves a node, read from the top', () => {
  const text = chainText(compile(clusterOf(), 'n1', 'allow', 'ours'), 'ip', 'leaving');
  expect(text.replaceAll(/pod-networks-\w+/g, 'pod-networks')).toBe(`chain leaving {
	type nat hook postrouting priority 100; policy accept;
	ip saddr . ip daddr @hairpins masquerade comment "a pod by its own host port"
	oifgroup 29548 return comment "a pod of this node"
	ip daddr @pod-networks return comment "a pod of another node"
	ip saddr 10.0.1.0/24 masquerade comment "a pod to the world outside"
}
`);
});

test('the networks of all nodes are one set of ranges that neither meet nor touch', () => {
  const nodes = Array.from({ length: 5000 }, (_, i) => node(`n${i}`, `10.${i >> 8}.${i & 255}.0/24`));
  const { sets } = compile(clusterOf(nodes), 'n1', 'allow', 'ours').tables.get('ip')!;
  const networks = [...sets.values()].filter(({ name }) => name.startsWith('pod-networks'));
  expect(networks.map(({ elements }) => [...elements.keys()])).toEqual([['10.0.0.0-10.19.135.255']]);
});

test('a node without networks, and one of a single family, have rules that a kernel takes', async () => {
  for (const nodes of [[], [node('n1')], [node('n1', '10.0.1.0/24')], [node('n2', 'fd00:2::/64')]])
    for (const mappings of [[], [WEB], [WEB, DNS]]) {
      const desired = compile(clusterOf(nodes, mappings), 'n1', 'allow', 'ours');
      const kernel = new FakeKernel();
      await kernel.commit(plan(NOTHING, desired));
      expect(plan((await kernel.dump()).ruleset, desired)).toEqual([]);
    }
});

test('host ports are read back from the kernel as they were put there', async () => {
  const kernel = new FakeKernel();
  await kernel.commit(plan(NOTHING, compile(clusterOf(NODES, [WEB, DNS]), 'n1', 'allow', 'ours')));
  const { ruleset } = await kernel.dump();
  expect(hostPortsIn(ruleset)).toEqual([WEB, DNS]);
  expect([podLinksIn(ruleset), podLinksIn(compile(clusterOf(), 'n1'))]).toEqual(['ours', 'others']);
});

test('a port that comes or goes changes elements alone, a node that says the same again nothing', () => {
  const engine = new Incremental('n1', 'allow', 'ours');
  for (const value of NODES) engine.apply({ type: 'node', key: value.name, value });
  const before = engine.flush();
  for (const value of NODES)
    engine.apply({ type: 'node', key: value.name, value: { ...value, labels: { changed: 'label' } } });
  const same = engine.flush();
  for (const family of ['ip', 'ip6'] as const)
    for (const [name, set] of same.tables.get(family)!.sets)
      expect(set, name).toBe(before.tables.get(family)!.sets.get(name));
  for (const event of hostPortEvents([], [WEB])) engine.apply(event);
  const opened = engine.flush();
  expect(plan(same, opened).map(({ op, family }) => `${op} ${family}`)).toEqual([
    'addElements ip',
    'addElements ip',
  ]);
  for (const event of hostPortEvents([WEB], [])) engine.apply(event);
  expect(plan(opened, engine.flush()).map(({ op }) => op)).toEqual(['delElements', 'delElements']);
});

test('a node whose pods another plugin connects has none of these chains, with or without host ports', () => {
  const { chains, sets } = compile(clusterOf(NODES, [WEB]), 'n1').tables.get('ip')!;
  expect([chains.has('source'), chains.has('leaving'), sets.has('host-ports')]).toEqual([
    false,
    false,
    false,
  ]);
});

const NODES = [node('n1', '10.0.1.0/24', 'fd00:1::/64'), node('n2', '10.0.2.0/24', 'fd00:2::/64')];

function node(name: string, ...podCidrs: string[]): Node {
  return { name, labels: {}, addresses: [], podCidrs };
}

function clusterOf(nodes: readonly Node[] = NODES, mappings: readonly HostPortMapping[] = []): Cluster {
  const state = new ClusterState();
  for (const value of nodes) state.apply({ type: 'node', key: value.name, value });
  for (const event of hostPortEvents([], mappings)) state.apply(event);
  return state;
}

function chainText({ tables }: Ruleset, family: Family, name: string): string {
  return formatChain(family, tables.get(family)!.chains.get(name)!);
}
