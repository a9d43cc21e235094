import { expect, test } from 'vitest';
import { FakeKernel } from '../../../test/support/kernel/fake.ts';
import { compile } from '../../compiler/compile.ts';
import type { Address } from '../../model/address.ts';
import { ClusterState, type Node } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { plan } from '../../nft/plan/plan.ts';
import { placeholderNode, readAdoptedState } from './adoptedstate.ts';

const NODE: Node = {
  name: 'n1',
  labels: {},
  addresses: ['172.18.0.1', 'fd00:18::1'] as readonly string[] as readonly Address[],
  podCidrs: ['10.244.1.0/24', 'fd00:244:1::/64'],
  links: { uplinks: [2], podBridges: [3], podPorts: [{ index: 7, mac: '0a:00:00:00:00:01', addresses: [] }] },
};

function clusterOf(node?: Node): ClusterState {
  const cluster = new ClusterState();
  if (node !== undefined) cluster.apply({ type: 'node', key: node.name, value: node });
  return cluster;
}

async function kernelWith(unknownPods: UnknownPods, node?: Node): Promise<FakeKernel> {
  const kernel = new FakeKernel();
  await kernel.commit(plan({ tables: new Map() }, compile(clusterOf(node), 'n1', unknownPods)));
  return kernel;
}

test.each(['allow', 'deny'] as const)(
  'as long as its Node cannot be read, an agent keeps the rules about who may send as whom (unknown pods: %s)',
  async unknownPods => {
    const kernel = await kernelWith(unknownPods, NODE);
    const [event, ...others] = placeholderNode('n1', await readAdoptedState(kernel, 'others'));
    expect(others).toEqual([]);
    // Its interfaces are read from the kernel, as soon as there is a Node to have them.
    const value = { ...event!.value, links: NODE.links } as Node;
    expect(plan((await kernel.dump()).ruleset, compile(clusterOf(value), 'n1', unknownPods))).toEqual([]);
  },
);

test('of a node that nobody knew, nothing is taken over', async () => {
  for (const kernel of [new FakeKernel(), await kernelWith('deny')])
    expect(placeholderNode('n1', await readAdoptedState(kernel, 'others'))).toEqual([]);
});
