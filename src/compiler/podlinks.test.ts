import { expect, test } from 'vitest';
import { ClusterState, type NodeLinks, withNodeLinks } from '../model/cluster.ts';
import { plan } from '../nft/plan/plan.ts';
import { compile } from './compile.ts';
import { nodeLinksIn } from './podlinks.ts';

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
])('nodeLinksIn() reads back what rules were made of: %j', links => {
  const programmed = compile(clusterWith(links), 'n1');
  expect(nodeLinksIn(programmed)).toEqual(links);
  const linked = withNodeLinks(clusterWith(), 'n1', nodeLinksIn(programmed));
  expect(plan(programmed, compile(linked, 'n1'))).toEqual([]);
});

test('withNodeLinks() changes no node that somebody has looked at, and none that is not there', () => {
  const known = clusterWith({ uplinks: [2], podBridges: [] });
  expect(withNodeLinks(known, 'n1', { uplinks: [9], podBridges: [] })).toBe(known);
  expect(withNodeLinks(known, 'n2', { uplinks: [9], podBridges: [] })).toBe(known);
});
