import { expect, test } from 'vitest';
import type { Address } from '../model/address.ts';
import { ClusterState, type NodeLinks, withNodeLinks } from '../model/cluster.ts';
import { formatRuleset } from '../nft/format/format.ts';
import { plan } from '../nft/plan/plan.ts';
import { compile } from './compile.ts';
import { nodeLinksIn } from './linkmatches.ts';

function clusterWith(links?: NodeLinks): ClusterState {
  const state = new ClusterState();
  const node = { name: 'n1', labels: {}, addresses: [], podCidrs: ['10.244.1.0/24', 'fd00:244:0:1::/64'] };
  state.apply({ type: 'node', key: 'n1', value: { ...node, ...(links && { links }) } });
  return state;
}

test.each<NodeLinks>([
  { uplinks: [], podBridges: [] },
  { uplinks: [2], podBridges: [] },
  { uplinks: [2, 7, 70_000], podBridges: [5, 1_000_000] },
  { uplinks: [2], podBridges: [5], broadcasts: ['10.244.255.255', '10.10.0.255'] as Address[] },
])('nodeLinksIn() reads back what rules were made of: %j', links => {
  const programmed = compile(clusterWith(links), 'n1');
  expect(nodeLinksIn(programmed)).toEqual(links);
  const linked = withNodeLinks(clusterWith(), 'n1', nodeLinksIn(programmed));
  expect(plan(programmed, compile(linked, 'n1'))).toEqual([]);
});

test('withNodeLinks() changes no node whose links are known, and none that does not exist', () => {
  const known = clusterWith({ uplinks: [2], podBridges: [] });
  expect(withNodeLinks(known, 'n1', { uplinks: [9], podBridges: [] })).toBe(known);
  expect(withNodeLinks(known, 'n2', { uplinks: [9], podBridges: [] })).toBe(known);
});

test('listener reports to other pods of a bridge are dropped unnamed, and nothing else from link-local addresses', () => {
  const lines = formatRuleset(compile(clusterWith(), 'n1'))
    .split('\n')
    .map(line => line.trim());
  const report = lines.indexOf(
    'ip6 saddr fe80::/10 icmpv6 type 143 drop comment "which groups the sender wants, for the node alone"',
  );
  expect(report).toBeGreaterThan(0);
  expect(lines[report - 1]).toBe('chain from-pods {');
  expect(lines[report + 1]).toBe('ip6 saddr fe80::/10 goto denied-link comment "from a link-local address"');
});

test('packets by links of ours have their reverse path checked once, and those by other links in full', () => {
  const text = formatRuleset(compile(clusterWith(), 'n1', 'allow', 'ours'));
  const asking = text.split('\n').filter(line => line.includes('from an address that is not the pod’s'));
  expect(new Set(asking.map(line => line.trim()))).toEqual(
    new Set([
      'iifgroup != 29548 fib saddr . iif oif missing goto denied-link comment "from an address that is not the pod’s"',
    ]),
  );
  expect(text).toContain('iifgroup 29548 fib saddr . iif oif missing goto denied-link');
  expect(formatRuleset(compile(clusterWith(), 'n1'))).not.toContain('iifgroup');
});
