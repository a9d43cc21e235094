/**
 * Small, dense, connected clusters: few labels, few ports, few networks, so that selectors select, rules meet
 * and most flows are decided by a policy. A sparse generator finds nothing.
 */

import fc from 'fast-check';
import { type Address, addressFromInt, parseAddress, parseCidr } from '../../../src/model/address.ts';
import {
  type Cluster,
  type ContainerPort,
  isSelectable,
  NAMESPACE_NAME_LABEL,
  type Namespace,
  type Node,
  type Pod,
} from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import type { Action, Peer, Policy, PolicyKind, PortMatch, Rule } from '../../../src/model/policy.ts';
import type {
  LabelSelector,
  NamespaceSelector,
  PodSelector,
  Requirement,
} from '../../../src/model/selector.ts';
import type { TunnelLinks } from '../../../src/semantics/tunnelends.ts';

import { ResolvedTable } from '../oracle/resolved.ts';

const NAMESPACES = ['a', 'b', 'c'];
const NODES = ['n1', 'n2'];
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
const PORTS = [53, 80, 81, 443, 1000, 1100, 8080];
const NAMES = ['kubernetes.io', '*.kubernetes.io', '*.io', 'example.org', '*.example.org'];
const DNS_NAMES = ['kubernetes.io', 'www.kubernetes.io', 'example.org', 'a.b.example.org', 'other.net'];
const PORT_NAMES = ['web', 'dns'];
const NETWORKS = [
  '0.0.0.0/0',
  '10.0.0.0/8',
  '10.0.1.0/24',
  '10.0.1.2/32',
  '192.0.2.0/24',
  '::/0',
  'fd00::/16',
  'fd00::1:0/112',
  '172.18.0.0/16',
  '172.18.0.12/32',
  'fd00:18::/64',
];
const HOLES = [
  '10.0.1.0/25',
  '10.0.1.2/32',
  '10.0.2.0/24',
  '172.18.0.12/32',
  '192.0.2.7/32',
  'fd00::1:2/128',
  'fd00::2:0/112',
];
const OUTSIDE = ['192.0.2.7', '192.0.2.8', '203.0.113.5', '2001:db8::5'].map(address);

function address(text: string): Address {
  return parseAddress(text)!;
}

const requirement = (keys: Record<string, string[]>): fc.Arbitrary<Requirement> =>
  fc.constantFrom(...Object.keys(keys)).chain(key =>
    fc.oneof(
      {
        arbitrary: values(keys[key]!).map(values => ({ key, operator: 'In' as const, values })),
        weight: 5,
      },
      {
        arbitrary: values(keys[key]!).map(values => ({ key, operator: 'NotIn' as const, values })),
        weight: 2,
      },
      { arbitrary: fc.constant({ key, operator: 'Exists' as const, values: [] }), weight: 1 },
      { arbitrary: fc.constant({ key, operator: 'DoesNotExist' as const, values: [] }), weight: 1 },
    ),
  );

const values = (all: string[]) => fc.subarray(all, { minLength: 1 });

const selector = (keys: Record<string, string[]>): fc.Arbitrary<LabelSelector> =>
  fc
    .oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 4, arbitrary: fc.tuple(requirement(keys)) },
      { weight: 1, arbitrary: fc.tuple(requirement(keys), requirement(keys)) },
    )
    .map(requirements => ({ requirements }));

/** One in ten is the subject of a policy of which something cannot be read. */
const subjectSelector = (keys: Record<string, string[]>): fc.Arbitrary<LabelSelector> =>
  fc
    .tuple(selector(keys), oneIn(10))
    .map(([readable, isUnreadable]) => (isUnreadable ? { ...readable, unreadable: true } : readable));

const oneIn = (n: number): fc.Arbitrary<boolean> => fc.integer({ min: 0, max: n - 1 }).map(i => i === 0);

const POD_LABELS = { app: ['web', 'db'], tier: ['x', 'y'] };
const NAMESPACE_LABELS = { team: ['red', 'blue'], [NAMESPACE_NAME_LABEL]: NAMESPACES };
const NODE_LABELS = { zone: ['1', '2'] };

const labels = (keys: Record<string, string[]>): fc.Arbitrary<Record<string, string>> =>
  fc.record(Object.fromEntries(Object.entries(keys).map(([key, all]) => [key, fc.constantFrom(...all)])), {
    requiredKeys: [],
  }) as fc.Arbitrary<Record<string, string>>;

const containerPort: fc.Arbitrary<ContainerPort> = fc.record({
  name: fc.constantFrom(...PORT_NAMES),
  protocol: fc.constantFrom(...PROTOCOLS),
  port: fc.constantFrom(...PORTS),
});

/**
 * Most pods have an address of their own; some share one, as when an address is given out again, and some claim one that
 * belongs to another node.
 */
export const podArbitrary = (namespace: string, name: string, host: number): fc.Arbitrary<Pod> =>
  fc
    .record({
      labels: labels(POD_LABELS),
      node: fc.constantFrom(...NODES),
      hostNetwork: oneIn(10),
      finished: oneIn(10),
      createdAt: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
      ports: fc.array(containerPort, { maxLength: 3 }),
      families: fc.constantFrom('46', '46', '46', '4', '6', ''),
      shared: oneIn(10),
      // An address outside the nodes' pod networks, as some plugins give.
      stray: oneIn(8),
      isPartial: oneIn(12),
    })
    .map(({ families, shared, stray, isPartial, ...rest }) => {
      const pod = { ...rest, ...(isPartial && { partial: true as const }) };
      const subnet = (pod.node === 'n1') !== stray ? 1n : 2n;
      const last = BigInt(shared ? 2 : host);
      const own = [
        ...(families.includes('4') ? [addressFromInt('ip', (10n << 24n) | (subnet << 8n) | last)] : []),
        ...(families.includes('6')
          ? [addressFromInt('ip6', (0xfd00n << 112n) | (subnet << 16n) | last)]
          : []),
      ];
      const addresses = pod.hostNetwork ? [...NODE_ADDRESSES[pod.node]!] : own;
      return { ...pod, key: `${namespace}/${name}`, namespace, name, addresses } satisfies Pod;
    });

const NODE_ADDRESSES: Record<string, readonly Address[]> = {
  n1: ['172.18.0.11', 'fd00:18::11', '10.0.1.254'].map(address),
  n2: ['172.18.0.12', 'fd00:18::12'].map(address),
};

/**
 * Addresses of interfaces: in a node's own pod networks, the same on both nodes, in those of the other node, and those
 * of pods.
 */
const INTERFACES: Record<string, readonly Address[]> = {
  n1: ['10.0.1.1', 'fd00::1:1', '172.17.0.1', '172.18.0.12', '10.0.1.2'].map(address),
  n2: ['10.0.2.1', 'fd00::2:1', '172.17.0.1', 'fd00:18::11', 'fd00::2:2'].map(address),
};

export const namespaceArbitrary = (name: string): fc.Arbitrary<Namespace> =>
  labels({ team: NAMESPACE_LABELS.team }).map(own => ({
    name,
    labels: { ...own, [NAMESPACE_NAME_LABEL]: name },
  }));

const nodeArbitrary = (name: string, others: readonly string[] = []): fc.Arbitrary<Node> =>
  fc
    .tuple(
      labels(NODE_LABELS),
      fc.constantFrom(POD_CIDRS[name]!, POD_CIDRS[name]!, others),
      fc.option(fc.subarray(TUNNELS[name]!, { minLength: 1 }), { freq: 4, nil: undefined }),
    )
    .map(([own, podCidrs, claimed]) => {
      const addresses = NODE_ADDRESSES[name]!;
      const externalIps = addresses.slice(2);
      return {
        name,
        labels: own,
        addresses,
        ...(externalIps.length > 0 && { externalIps }),
        podCidrs,
        ...(claimed && { tunnelAddresses: claimed }),
      };
    });

/** Tunnel addresses that annotations name: the node's own, one of a pod, one of an interface, and one of the other node. */
const TUNNELS: Record<string, Address[]> = {
  n1: ['10.0.1.0', 'fd00::1:0', '10.0.1.2', '172.17.0.1', '10.0.2.0'].map(address),
  n2: ['10.0.2.0', 'fd00::2:0', 'fd00::2:2', '172.17.0.1', '10.0.1.0'].map(address),
};

/**
 * What a hostile or mistaken kubelet writes into the status of its Node behind the node's own addresses: those of pods
 * here and there, those of the other node, one of an unknown pod, one from outside, and one of its own for a second time.
 */
const CLAIMS: Record<string, Address[]> = {
  n1: [
    '10.0.1.2',
    '10.0.2.2',
    'fd00::2:2',
    '172.18.0.12',
    'fd00:18::12',
    '10.0.2.77',
    '192.0.2.7',
    '172.18.0.11',
  ].map(address),
  n2: [
    '10.0.2.2',
    '10.0.1.2',
    'fd00::1:2',
    '172.18.0.11',
    'fd00:18::11',
    '10.0.1.254',
    '192.0.2.7',
    '172.18.0.12',
  ].map(address),
};

/** One in three claims some. */
const claiming = (node: Node): fc.Arbitrary<Node> =>
  fc
    .tuple(oneIn(3), fc.subarray(CLAIMS[node.name]!, { minLength: 1, maxLength: 3 }))
    .map(([claims, some]) => (claims ? { ...node, addresses: [...node.addresses, ...some] } : node));

/** A node with the links that its agent knows. */
export const linkedNodeArbitrary = (name: string): fc.Arbitrary<Node> =>
  fc
    .tuple(
      fc
        .constantFrom([], SMALL_POD_CIDRS[name]!)
        .chain(others => nodeArbitrary(name, others))
        .chain(claiming),
      tunnelsArbitrary,
    )
    .map(([node, tunnels]) => withTunnels(node, tunnels));

const withTunnels = (node: Node, tunnels: TunnelLinks): Node => ({
  ...node,
  links: { uplinks: [], podBridges: [], ...tunnels },
});

/** Tunnels with the ports and protocols that flows have; and nodes whose pods run overlays of their own. */
const tunnelsArbitrary = fc.constantFrom<TunnelLinks>(
  {},
  {},
  { tunnels: { ports: [8472], protocols: [] } },
  { tunnels: { ports: [2000, 8472], protocols: [47] } },
  { podTunnels: 'allow' },
);

/** Pod networks. Those of the first node contain an address of the node itself, as with a bridge. */
const POD_CIDRS: Record<string, readonly string[]> = {
  n1: ['10.0.1.0/24', 'fd00::1:0/112'],
  n2: ['10.0.2.0/24', 'fd00::2:0/112'],
};

/** So small that the two addresses that are the node's own, where no pod has them, are those of pods. */
const SMALL_POD_CIDRS: Record<string, readonly string[]> = {
  n1: ['10.0.1.2/31', 'fd00::1:2/127'],
  n2: ['10.0.2.2/31', 'fd00::2:2/127'],
};

/** The first two addresses of the nodes' pod networks. */
const GATEWAYS = ['10.0.1.0', '10.0.1.1', '10.0.2.1', 'fd00::1:1', 'fd00::2:1'].map(address);

/** Addresses in the nodes' pod networks that no pod has. */
const UNKNOWN_ADDRESSES = ['10.0.1.77', '10.0.2.77', 'fd00::1:77', 'fd00::2:77'].map(address);

export const podLabels = labels(POD_LABELS);
export const subjectRequirements = fc.array(requirement(POD_LABELS), { maxLength: 2 });

const namespaceSelector: fc.Arbitrary<NamespaceSelector> = fc.oneof(
  fc.constantFrom(...NAMESPACES).map(name => ({ kind: 'name' as const, name })),
  selector(NAMESPACE_LABELS).map(selector => ({ kind: 'labels' as const, selector })),
);

const podSelector: fc.Arbitrary<PodSelector> = fc.record({
  namespaces: namespaceSelector,
  pods: selector(POD_LABELS),
});

const clusterSubject: fc.Arbitrary<PodSelector> = fc.record({
  namespaces: subjectSelector(NAMESPACE_LABELS).map(selector => ({ kind: 'labels' as const, selector })),
  pods: subjectSelector(POD_LABELS),
});

const networkPeer: fc.Arbitrary<Peer> = fc
  .tuple(fc.constantFrom(...NETWORKS), fc.subarray(HOLES))
  .map(([cidr, holes]) => ({
    kind: 'network' as const,
    cidr: parseCidr(cidr)!,
    except: holes.map(hole => parseCidr(hole)!),
  }))
  .map(peer => ({
    ...peer,
    except: peer.except.filter(
      ({ family, prefix }) => family === peer.cidr.family && prefix > peer.cidr.prefix,
    ),
  }));

const peer = (kinds: readonly Peer['kind'][]): fc.Arbitrary<Peer> =>
  fc.constantFrom(...kinds).chain(kind => {
    switch (kind) {
      case 'pods':
        return podSelector.map(selector => ({ kind, selector }));
      case 'nodes':
        return selector(NODE_LABELS).map((selector): Peer => ({ kind, selector }));
      case 'network':
        return networkPeer;
      case 'domain':
        return fc.constantFrom(...NAMES).map(name => ({ kind, name }));
    }
  });

const portMatch: fc.Arbitrary<PortMatch> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('protocol' as const), protocol: fc.constantFrom(...PROTOCOLS) }),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...PROTOCOLS, 'TCP' as const),
        fc.constantFrom(...PORTS),
        fc.constantFrom(0, 0, 1, 63, 64, 1000, -1),
      )
      .map(([protocol, first, width]) => ({ kind: 'range' as const, protocol, first, last: first + width })),
  },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        kind: fc.constant('named' as const),
        name: fc.constantFrom(...PORT_NAMES),
        protocol: fc.constantFrom(...PROTOCOLS),
      },
      { requiredKeys: ['kind', 'name'] },
    ) as fc.Arbitrary<PortMatch>,
  },
);

const anyOr = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<'any' | readonly T[]> =>
  fc.oneof(
    { weight: 1, arbitrary: fc.constant('any' as const) },
    { weight: 3, arbitrary: fc.array(arbitrary, { maxLength }) },
  );

const rules = (
  direction: string,
  actions: readonly Action[],
  kinds: readonly Peer['kind'][],
): fc.Arbitrary<Rule[]> =>
  fc
    .array(
      fc.record({
        action: fc.constantFrom(...actions),
        peers: anyOr(peer(kinds), 7),
        ports: anyOr(portMatch, 3),
      }),
      { maxLength: 4 },
    )
    .map(made => made.map((rule, i) => ({ ...rule, path: `${direction}[${i}]` })));

/** Four times in five. */
const mostly = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 4, nil: undefined });

const KINDS: Record<PolicyKind, { tier: Policy['tier']; actions: readonly Action[]; weight: number }> = {
  NetworkPolicy: { tier: 'networkpolicy', actions: ['accept'], weight: 4 },
  ClusterNetworkPolicy: { tier: 'admin', actions: ['accept', 'deny', 'pass'], weight: 3 },
  AdminNetworkPolicy: { tier: 'admin', actions: ['accept', 'deny', 'pass'], weight: 1 },
  BaselineAdminNetworkPolicy: { tier: 'baseline', actions: ['accept', 'deny'], weight: 2 },
};

export const policyArbitrary = (name: string): fc.Arbitrary<Policy> =>
  fc
    .oneof(
      ...Object.entries(KINDS).map(([kind, { weight }]) => ({
        weight,
        arbitrary: fc.constant(kind as PolicyKind),
      })),
    )
    .chain(kind => {
      const { tier, actions } = KINDS[kind];
      const namespaced = kind === 'NetworkPolicy';
      return fc
        .record({
          order: namespaced ? fc.constant(0) : fc.constantFrom(0, 1, 2),
          // A baseline ClusterNetworkPolicy may pass; it has the same kind as an admin one.
          tier:
            kind === 'ClusterNetworkPolicy'
              ? fc.constantFrom('admin' as const, 'baseline' as const)
              : fc.constant(tier),
          subject: namespaced
            ? fc.record({
                namespaces: fc.constantFrom(...NAMESPACES).map(name => ({ kind: 'name' as const, name })),
                pods: subjectSelector(POD_LABELS),
              })
            : clusterSubject,
          ingress: mostly(rules('ingress', actions, namespaced ? ['pods', 'pods', 'network'] : ['pods'])),
          egress: mostly(
            rules(
              'egress',
              actions,
              namespaced
                ? ['pods', 'pods', 'network']
                : ['pods', 'pods', 'nodes', 'network', 'domain', 'domain'],
            ),
          ),
        })
        .map(({ ingress, egress, ...rest }) => ({
          ...rest,
          ...(ingress && { ingress }),
          ...(egress && { egress }),
        }))
        .map(body => {
          const full = namespaced ? `${(body.subject.namespaces as { name: string }).name}/${name}` : name;
          return { ...body, kind, name: full, id: `${kind} ${full}` } as Policy;
        });
    });

const auditedArbitrary = (name: string): fc.Arbitrary<Policy> =>
  policyArbitrary(name).map(policy => ({ ...policy, audited: true }));

export interface Situation {
  readonly cluster: Cluster;
  readonly unknownPods: UnknownPods;
  readonly flows: readonly Flow[];
}

const byKey = <V>(entries: readonly V[], key: (value: V) => string) =>
  new Map(entries.map(value => [key(value), value]));

export const clusterArbitrary: fc.Arbitrary<Cluster> = fc
  .record({
    // Some namespaces are unknown, although some of their pods are known.
    namespaces: fc
      .tuple(...NAMESPACES.map(namespaceArbitrary))
      .chain(all => fc.subarray(all, { minLength: 2 })),
    nodes: fc.tuple(...NODES.map(name => nodeArbitrary(name))),
    // An overlay is the same on every node.
    tunnels: tunnelsArbitrary,
    pods: fc.tuple(
      ...NAMESPACES.flatMap((namespace, i) =>
        [0, 1, 2].map(j => podArbitrary(namespace, `p${j}`, 10 * i + j + 2)),
      ),
    ),
    policies: fc
      .integer({ min: 4, max: 10 })
      .chain(count => fc.tuple(...Array.from({ length: count }, (_, i) => policyArbitrary(`p${i}`)))),
    audited: fc
      .integer({ min: 0, max: 2 })
      .chain(count => fc.tuple(...Array.from({ length: count }, (_, i) => auditedArbitrary(`q${i}`)))),
  })
  .chain(parts => resolvedArbitrary(parts.pods).map(resolved => ({ ...parts, resolved })))
  .map(({ namespaces, nodes, tunnels, pods, policies, audited, resolved }) => ({
    resolved,
    namespaces: byKey(namespaces, ({ name }) => name),
    nodes: byKey(
      nodes.map(node => withTunnels(node, tunnels)),
      ({ name }) => name,
    ),
    pods: byKey(pods, ({ key }) => key) as Cluster['pods'],
    policies: byKey(policies, ({ id }) => id) as Cluster['policies'],
    audited: byKey(audited, ({ id }) => id) as Cluster['policies'],
  }));

/** Clusters as manifests describe them, without DNS answers, which only nodes know. */
export const unresolvedClusterArbitrary: fc.Arbitrary<Cluster> = clusterArbitrary.map(
  ({ resolved: _, ...cluster }) => cluster,
);

/** The same where each namespace is known. What is answered where labels are not is proven in completions.test.ts. */
export const knownClusterArbitrary: fc.Arbitrary<Cluster> = unresolvedClusterArbitrary.map(cluster => {
  const namespaces = new Map(cluster.namespaces);
  for (const name of NAMESPACES)
    if (!namespaces.has(name)) namespaces.set(name, { name, labels: { [NAMESPACE_NAME_LABEL]: name } });
  return { ...cluster, namespaces };
});

/** As agents know it, whose nodes have bridges too, some of which have an address of others. */
export const bridgedClusterArbitrary: fc.Arbitrary<Cluster> = fc
  .tuple(clusterArbitrary, ...NODES.map(name => fc.subarray([...INTERFACES[name]!])))
  .map(([cluster, ...interfaces]) => ({
    ...cluster,
    nodes: byKey(
      [...cluster.nodes.values()].map((node, i) => ({ ...node, interfaceAddresses: interfaces[i]! })),
      ({ name }) => name,
    ),
  }));

/** Gives every pod some of the addresses as DNS answers, for names in the rules and for others. */
function resolvedArbitrary(pods: readonly Pod[]): fc.Arbitrary<ResolvedTable> {
  const addresses = [...pods.flatMap(pod => pod.addresses), ...OUTSIDE];
  const entry = fc.record({
    pod: fc.constantFrom(...pods.map(({ key }) => key)),
    name: fc.constantFrom(...DNS_NAMES),
    address: fc.constantFrom(...addresses),
  });
  return fc.array(entry, { minLength: 0, maxLength: 60 }).map(entries => new ResolvedTable(entries));
}

/** Pairs of a pod and an address that a DNS answer gave it, of one family. */
function resolvedPairs({ resolved, pods }: Cluster): [Address, Address][] {
  const entries = resolved instanceof ResolvedTable ? resolved.entries : [];
  return entries.flatMap(({ pod, address }) =>
    (pods.get(pod)?.addresses ?? [])
      .filter(own => own.includes(':') === address.includes(':'))
      .map((own): [Address, Address] => [own, address]),
  );
}

/** Flows between the cluster's own addresses, mostly between pods, with the ports that its policies speak of. */
export const flowsArbitrary = (cluster: Cluster, count: number): fc.Arbitrary<Flow[]> => {
  const pods = [...cluster.pods.values()].filter(isSelectable).flatMap(pod => [...pod.addresses]);
  const nodes = [...cluster.nodes.values()].flatMap(node => [...node.addresses]);
  const finished = [...cluster.pods.values()].filter(pod => pod.finished).flatMap(pod => [...pod.addresses]);
  const tunnels = [...cluster.nodes.values()].flatMap(({ tunnelAddresses = [] }) => [...tunnelAddresses]);
  const others = [...nodes, ...tunnels, ...GATEWAYS, ...OUTSIDE, ...UNKNOWN_ADDRESSES, ...finished];
  const end =
    pods.length === 0
      ? fc.constantFrom(...others)
      : fc.oneof(
          { weight: 5, arbitrary: fc.constantFrom(...pods) },
          { weight: 1, arbitrary: fc.constantFrom(...others) },
        );
  const service = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        protocol: fc.constantFrom(...PROTOCOLS),
        port: fc.constantFrom(...PORTS, 54, 1001, 1063, 1064, 2000, 2001, 8472),
      }),
    },
    { weight: 1, arbitrary: fc.record({ protocol: fc.constantFrom('ICMP' as const, 47) }) },
  );
  const resolved = resolvedPairs(cluster);
  const ends = fc.tuple(end, end).filter(([from, to]) => from.includes(':') === to.includes(':'));
  const pair =
    resolved.length === 0
      ? ends
      : fc.oneof({ weight: 3, arbitrary: ends }, { weight: 1, arbitrary: fc.constantFrom(...resolved) });
  const flow = fc
    .tuple(pair, service)
    .map(([[from, to], service]) => [from, to, service] as const)
    .map(([from, to, service]): Flow => ({ from, to, ...service, ...(from === to && { viaService: true }) }));
  return fc.array(flow, { minLength: count, maxLength: count });
};

const withSmallNetworks = (cluster: Cluster): Cluster => ({
  ...cluster,
  nodes: byKey(
    [...cluster.nodes.values()].map(node => ({ ...node, podCidrs: SMALL_POD_CIDRS[node.name]! })),
    ({ name }) => name,
  ),
});

export const situationArbitrary = (flows: number): fc.Arbitrary<Situation> =>
  fc
    .tuple(clusterArbitrary, fc.constantFrom<UnknownPods>('allow', 'deny'), fc.nat(3))
    .map(
      ([cluster, unknownPods, n]) => [n === 0 ? withSmallNetworks(cluster) : cluster, unknownPods] as const,
    )
    .chain(([cluster, unknownPods]) =>
      flowsArbitrary(cluster, flows).map(flows => ({ cluster, unknownPods, flows })),
    );

/** The same with Nodes that claim addresses of others, which no laboratory can give them. */
export const claimingSituationArbitrary = (flows: number): fc.Arbitrary<Situation> =>
  situationArbitrary(flows).chain(({ cluster, ...rest }) =>
    fc
      .tuple(...[...cluster.nodes.values()].map(claiming))
      .map(nodes => ({ ...rest, cluster: { ...cluster, nodes: byKey(nodes, ({ name }) => name) } })),
  );
