import { expect, test } from 'vitest';
import { address } from '../../../../bench/lab/topology.ts';
import { recorded } from '../../../../test/support/recorded.ts';
import { ClusterState, type Node, type Pod } from '../../../model/cluster.ts';
import type { Flow } from '../../../model/flow.ts';
import { endNamer } from '../endname.ts';
import { suggestPolicies } from './suggest.ts';

/** A node that sends from the first address of its pod network, and one of IPv6 alone. */
function tunnelNode(name: string, internalIps: readonly string[], tunnel: readonly string[]): Node {
  const ips = internalIps.map(address);
  return {
    name,
    labels: {},
    addresses: ips,
    podCidrs: tunnel.map(base => `${base}/${base.includes(':') ? 112 : 24}`),
    tunnelAddresses: tunnel.map(address),
  };
}

const web: Pod = {
  key: 'shop/web',
  namespace: 'shop',
  name: 'web',
  node: 'n1',
  labels: { app: 'web' },
  addresses: [address('10.244.1.5'), address('fd24::1:5')],
  hostNetwork: false,
  finished: false,
  createdAt: '',
  ports: [],
};

function clusterWith(...nodes: readonly Node[]): ClusterState {
  const cluster = new ClusterState();
  for (const node of nodes) cluster.apply({ type: 'node', key: node.name, value: node });
  cluster.apply({ type: 'pod', key: web.key, value: web });
  return cluster;
}

const flow = (from: string, to = '10.244.1.5'): Flow => ({
  from: address(from),
  to: address(to),
  protocol: 'TCP',
  port: 8443,
});

const n1 = tunnelNode('n1', ['172.18.0.1'], ['10.244.1.0']);
const n2 = tunnelNode('n2', ['172.18.0.2'], ['10.244.2.0', 'fd24::2:0']);

function suggested(cluster: ClusterState, ...flows: readonly Flow[]): unknown[] {
  const policies = suggestPolicies(recorded(cluster, 'allow', flows), 'shop') as {
    spec: { ingress?: { from: unknown[] }[] };
  }[];
  return policies.flatMap(({ spec }) => (spec.ingress ?? []).flatMap(({ from }) => from));
}

test('a node that sends from its tunnel is suggested by its own address, which means the tunnel too (N75)', () => {
  const cluster = clusterWith(n1, n2);
  expect(suggested(cluster, flow('10.244.2.0'))).toEqual([{ ipBlock: { cidr: '172.18.0.2/32' } }]);
  // It has no InternalIP of IPv6, and so no network means its tunnel of that family.
  expect(suggested(cluster, flow('fd24::2:0', 'fd24::1:5'))).toEqual([
    { ipBlock: { cidr: 'fd24::2:0/128' } },
  ]);
  expect(suggested(cluster, flow('10.244.1.0'))).toEqual([]); // N43: its own node
});

test('an address that two nodes claim is that of neither, also in a recording', () => {
  const rival = { ...tunnelNode('n3', ['172.18.0.3'], ['10.244.2.0']) };
  expect(suggested(clusterWith(n1, n2, rival), flow('10.244.2.0'))).toEqual([
    { ipBlock: { cidr: '10.244.2.0/32' } },
  ]);
});

test('a recorded end that is the tunnel of a node has the name of the node', () => {
  const recording = recorded(clusterWith(n1, n2), 'allow', [flow('10.244.2.0'), flow('10.244.2.9')]);
  expect(recording.flows.map(({ from }) => endNamer(recording)(from))).toEqual(['node/n2', '10.244.2.9']);
});
