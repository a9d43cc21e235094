/**
 * Small clusters as the API has them, for packets between pods that are there: eight pods on two nodes, whose labels, named
 * ports and policies are random. Few labels, ports and networks, so that selectors select and rules meet.
 */
import fc from 'fast-check';
import { type Address, parseAddress } from '../../../src/model/address.ts';
import type { Labels } from '../../../src/model/labels.ts';

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly addresses: readonly Address[];
}

export const NODES = [
  { name: 'n1', podCidrs: ['10.0.1.0/24', 'fd00::1:0/112'], addresses: pair('172.18.0.11', 'fd00:18::11') },
  { name: 'n2', podCidrs: ['10.0.2.0/24', 'fd00::2:0/112'], addresses: pair('172.18.0.12', 'fd00:18::12') },
] as const;

export const PODS: readonly Place[] = ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c'].map((namespace, i) => {
  const [node, last] = [1 + (i % 2), 10 + i];
  const addresses = pair(`10.0.${node}.${last}`, `fd00::${node}:${last}`);
  return { namespace, name: `p${i}`, node: `n${node}`, addresses };
});

export const OUTSIDE: readonly Address[] = [
  ...pair('192.0.2.7', '2001:db8::7'),
  ...pair('203.0.113.5', '2001:db8:5::5'),
];

function pair(...texts: [string, string]): readonly Address[] {
  return texts.map(text => parseAddress(text)!);
}

export interface Manifests {
  /** Nodes, namespaces and pods. */
  readonly world: readonly object[];
  readonly policies: readonly object[];
  /** Other objects of the same cluster. */
  readonly others: readonly object[];
}

const APP = ['web', 'db'];
/** A label of one revision of a workload: no suggestion may select by it. */
export const REVISION = 'pod-template-hash';
const labels: fc.Arbitrary<Labels> = fc.record(
  {
    app: fc.constantFrom(...APP),
    tier: fc.constantFrom('x', 'y'),
    [REVISION]: fc.constantFrom('7d4b9c6f5', '5c6b7a8d9'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Labels>;

const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
const containerPorts = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('web', 'dns'),
    protocol: fc.constantFrom(...PROTOCOLS),
    containerPort: fc.constantFrom(53, 80, 81),
  }),
  { maxLength: 2, selector: ({ name }) => name },
);

const pod = ({ namespace, name, node, addresses }: Place): fc.Arbitrary<object> =>
  fc.record({ labels, ports: containerPorts }).map(({ labels, ports }) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels },
    spec: { nodeName: node, containers: [{ name: 'main', image: 'i', ports }] },
    status: { phase: 'Running', podIPs: addresses.map(ip => ({ ip })) },
  }));

const namespace = (name: string): fc.Arbitrary<object> =>
  fc.constantFrom('red', 'blue').map(team => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { team, 'kubernetes.io/metadata.name': name } },
  }));

const node = ({ name, podCidrs, addresses }: (typeof NODES)[number]): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: { podCIDRs: podCidrs },
  status: { addresses: addresses.map(address => ({ type: 'InternalIP', address })) },
});

const podSelector: fc.Arbitrary<object> = fc.oneof(
  fc.constant({}),
  fc.constantFrom(...APP).map(app => ({ matchLabels: { app } })),
  fc.constantFrom('x', 'y').map(tier => ({ matchLabels: { tier } })),
  fc
    .record({ key: fc.constantFrom('app', 'tier'), operator: fc.constantFrom('Exists', 'DoesNotExist') })
    .map(expression => ({ matchExpressions: [expression] })),
  fc
    .constantFrom(...APP)
    .map(app => ({ matchExpressions: [{ key: 'app', operator: 'NotIn', values: [app] }] })),
);

const namespaceSelector: fc.Arbitrary<object> = fc.oneof(
  fc.constant({}),
  fc.constantFrom('red', 'blue').map(team => ({ matchLabels: { team } })),
  fc.constantFrom('a', 'b').map(name => ({ matchLabels: { 'kubernetes.io/metadata.name': name } })),
);

const ipBlock: fc.Arbitrary<object> = fc.constantFrom(
  { cidr: '192.0.2.0/24' },
  { cidr: '0.0.0.0/0', except: ['10.0.1.0/24', '203.0.113.5/32'] },
  { cidr: '10.0.0.0/16', except: ['10.0.2.11/32'] },
  { cidr: '2001:db8::/32', except: ['2001:db8:5::/48'] },
  { cidr: '::/0', except: ['fd00::1:0/112'] },
);

const peer: fc.Arbitrary<object> = fc.oneof(
  podSelector.map(podSelector => ({ podSelector })),
  namespaceSelector.map(namespaceSelector => ({ namespaceSelector })),
  fc.record({ podSelector, namespaceSelector }),
  ipBlock.map(ipBlock => ({ ipBlock })),
);

const port: fc.Arbitrary<object> = fc
  .tuple(
    fc.constantFrom(...PROTOCOLS, 'TCP' as const),
    fc.constantFrom<object>(
      {},
      { port: 53 },
      { port: 80 },
      { port: 'web' },
      { port: 'dns' },
      { port: 53, endPort: 80 },
    ),
  )
  .map(([protocol, numbers]) => ({ protocol, ...numbers }));

const few = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 2 });

const networkPolicy = (index: number): fc.Arbitrary<object> =>
  fc
    .record({
      namespace: fc.constantFrom('a', 'a', 'b', 'c'),
      podSelector,
      policyTypes: fc.constantFrom<string[]>(['Ingress'], ['Egress'], ['Ingress', 'Egress']),
      ingress: few(fc.record({ from: few(peer), ports: few(port) })),
      egress: few(fc.record({ to: few(peer), ports: few(port) })),
    })
    .map(({ namespace, policyTypes, ingress, egress, ...spec }) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { namespace, name: `np${index}` },
      spec: {
        ...spec,
        policyTypes,
        ...(policyTypes.includes('Ingress') && { ingress }),
        ...(policyTypes.includes('Egress') && { egress }),
      },
    }));

const clusterPeer: fc.Arbitrary<object> = fc.oneof(
  namespaceSelector.map(namespaces => ({ namespaces })),
  fc.record({ podSelector, namespaceSelector }).map(pods => ({ pods })),
);

const networks: fc.Arbitrary<object> = fc
  .constantFrom(['192.0.2.0/24', '2001:db8::/48'], ['0.0.0.0/0', '::/0'], ['172.18.0.0/16', 'fd00:18::/64'])
  .map(networks => ({ networks }));

const protocol: fc.Arbitrary<object> = fc
  .tuple(
    fc.constantFrom('tcp', 'udp'),
    fc.constantFrom<object>({ number: 80 }, { number: 53 }, { range: { start: 53, end: 80 } }),
  )
  .map(([key, destinationPort]) => ({ [key]: { destinationPort } }));

const clusterRules = (side: 'from' | 'to', peers: fc.Arbitrary<object>): fc.Arbitrary<object[]> =>
  few(
    fc
      .record({
        action: fc.constantFrom('Accept', 'Deny', 'Pass'),
        peers: fc.array(peers, { minLength: 1, maxLength: 2 }),
        protocols: fc.array(protocol, { maxLength: 2 }),
      })
      .map(({ action, peers, protocols }) => ({
        action,
        [side]: peers,
        ...(protocols.length > 0 && { protocols }),
      })),
  );

const clusterPolicy = (index: number): fc.Arbitrary<object> =>
  fc
    .record({
      tier: fc.constantFrom('Admin', 'Baseline'),
      subject: clusterPeer,
      ingress: clusterRules('from', clusterPeer),
      egress: clusterRules('to', fc.oneof(clusterPeer, networks)),
    })
    .map(spec => ({
      apiVersion: 'policy.networking.k8s.io/v1alpha2',
      kind: 'ClusterNetworkPolicy',
      metadata: { name: `cnp${index}` },
      spec: { priority: index, ...spec },
    }));

const policies: fc.Arbitrary<object[]> = fc
  .tuple(...[0, 1, 2, 3].map(networkPolicy), ...[0, 1].map(clusterPolicy))
  .map(all => [...all]);

export const manifestsArbitrary: fc.Arbitrary<Manifests> = fc
  .record({
    namespaces: fc.tuple(...['a', 'b', 'c'].map(namespace)),
    pods: fc.tuple(...PODS.map(pod)),
    policies,
    others: policies,
  })
  .map(({ namespaces, pods, policies, others }) => ({
    world: [...NODES.map(node), ...namespaces, ...pods],
    policies,
    others,
  }));
