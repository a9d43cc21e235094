import { expect, test } from 'vitest';
import { layoutCluster } from '../../../test/support/agent/layouts.ts';
import { compile } from '../../compiler/compile.ts';
import { withDenialLimits } from '../../compiler/denied.ts';
import { withRuleCounters } from '../../compiler/rulecounters.ts';
import type { Address } from '../../model/address.ts';
import { type Cluster, type ClusterState, type NodeLinks, withNodeLinks } from '../../model/cluster.ts';
import type { HostPortMapping } from '../../model/hostport.ts';
import { hostPortEvents } from '../../model/hostportevents.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import { EVERYTHING } from '../../model/selector.ts';
import { plan } from '../../nft/plan/plan.ts';
import { desiredAsProgrammed } from './desired.ts';

const NODE = 'n1';
const LINKS: NodeLinks = { uplinks: [2, 7], podBridges: [5] };
const MAPPING = {
  protocol: 'TCP',
  hostPort: 80,
  pod: '10.0.1.201',
  podPort: 8080,
  owner: 'probe/x',
} as HostPortMapping;
const LIMITS = { perSource: { perSecond: 2, burst: 4 }, inAll: { perSecond: 20, burst: 40 } };
const RESOLVERS = ['10.96.0.10', 'fd96::a'] as Address[];

/** Policies by name of pods of this node, or of none. */
function clusterOf(namespace: string): ClusterState {
  const state = layoutCluster();
  const peers = [{ kind: 'domain', name: '*.example.com' }] as const;
  const value = {
    id: 'ClusterNetworkPolicy named',
    kind: 'ClusterNetworkPolicy',
    name: 'named',
    tier: 'admin',
    order: 5,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: EVERYTHING },
    egress: [{ path: 'egress[0]', action: 'accept', peers, ports: 'any' }],
  } as const;
  state.apply({ type: 'policy', key: value.id, value });
  return state;
}

interface Told {
  readonly unknownPods: UnknownPods;
  readonly podLinks: PodLinks;
  readonly ports: readonly number[] | undefined;
  readonly limits: typeof LIMITS | undefined;
  readonly named: string;
}

function programmed({ unknownPods, podLinks, ports, limits }: Told, cluster: ClusterState) {
  const dnsQueue = { queue: 'nft', resolvers: RESOLVERS, ...(ports && { ports }) } as const;
  if (podLinks === 'ours') for (const event of hostPortEvents([], [MAPPING])) cluster.apply(event);
  const known: Cluster = withNodeLinks(cluster, NODE, LINKS);
  return withDenialLimits(compile(known, NODE, unknownPods, podLinks, dnsQueue), limits);
}

const CASES: Told[] = (['allow', 'deny'] as const).flatMap(unknownPods =>
  (['ours', 'others'] as const).flatMap(podLinks =>
    [undefined, [5353]].flatMap(ports =>
      [undefined, LIMITS].flatMap(limits =>
        ['probe', 'nowhere'].map(named => ({ unknownPods, podLinks, ports, limits, named })),
      ),
    ),
  ),
);

test.each(['times', 'times and last'] as const)(
  'what an agent made whose rules keep %s is what it should be',
  kept => {
    for (const told of CASES) {
      const rules = withRuleCounters(programmed(told, clusterOf(told.named)), kept);
      const rest = { cluster: clusterOf(told.named), node: NODE, queue: 'nft' } as const;
      expect(plan(rules, desiredAsProgrammed(rules, rest)), JSON.stringify(told)).toEqual([]);
    }
  },
);

test.each(CASES)('what an agent made is what it should be, whatever it was told: %j', told => {
  const rules = programmed(told, clusterOf(told.named));
  const rest = { cluster: clusterOf(told.named), node: NODE, queue: 'nft' } as const;
  expect(plan(rules, desiredAsProgrammed(rules, rest))).toEqual([]);
});

test('what is known is not read from the rules, which may be wrong', () => {
  const told = {
    unknownPods: 'allow',
    podLinks: 'others',
    ports: undefined,
    limits: LIMITS,
    named: 'probe',
  } as const;
  const rules = programmed(told, clusterOf('probe'));
  const rest = { cluster: clusterOf('probe'), node: NODE, queue: 'nft' } as const;
  for (const known of [{ unknownPods: 'deny' }, { podLinks: 'ours' }] as const)
    expect(plan(rules, desiredAsProgrammed(rules, { ...rest, ...known }))).not.toEqual([]);
});
