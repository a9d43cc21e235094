/** Recorded flows judged by any policies: by the reference, with the ends as they were recorded. */
import type { Address } from '../model/address.ts';
import type { Cluster, Pod } from '../model/cluster.ts';
import { matchesDomainName } from '../model/domainname.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { comparePolicies, type Direction, type Policy, type Tier } from '../model/policy.ts';
import { evaluatorOf, type FlowVerdict } from '../semantics/evaluate.ts';
import { unknownPodFinder } from '../semantics/unknownpods.ts';
import { asSeenBy, type Owners, type View } from '../semantics/view.ts';
import { policyFlow, type RecordedFlow, type Recording } from './recording.ts';

/** Policies, and the namespaces that somebody knows better than the recording: their labels count. */
export type Judging = Pick<Cluster, 'policies'> & Partial<Pick<Cluster, 'namespaces'>>;

/** The verdict of each flow of the recording; one after the other, for each is looked at in a place of its own. */
export function recordingJudge(
  recording: Pick<Recording, 'namespaces' | 'nodes' | 'unknownPods'>,
  judging: Judging,
  unknownPods: UnknownPods = recording.unknownPods,
): (flow: RecordedFlow) => FlowVerdict {
  const ends = new Ends();
  const cluster: Cluster = {
    namespaces: new Map([...recording.namespaces, ...(judging.namespaces ?? [])]),
    nodes: recording.nodes,
    pods: new Map(),
    policies: judging.policies,
    told: { has: (pod, address, pattern) => ends.wasTold(pod, address, pattern) },
  };
  const judge = evaluatorOf(viewOf(cluster, ends, unknownPods));
  return flow => {
    ends.flow = flow;
    return judge(policyFlow(flow));
  };
}

/** The two ends of one flow: an address may have been another pod's a minute before. */
class Ends implements Owners {
  flow: RecordedFlow | undefined;

  get(address: Address): Pod | undefined {
    if (address === this.flow?.from.address) return this.flow.from.pod;
    return address === this.flow?.to.address ? this.flow.to.pod : undefined;
  }

  has(address: Address): boolean {
    return this.get(address) !== undefined;
  }

  wasTold(pod: string, address: Address, pattern: string): boolean {
    const { from, to, names = [] } = this.flow ?? {};
    if (from?.pod?.key !== pod || to?.address !== address) return false;
    return names.some(name => name === pattern || matchesDomainName(pattern, name));
  }
}

function viewOf(cluster: Cluster, owners: Owners, unknownPods: UnknownPods): View {
  const ordered = [...cluster.policies.values()].sort(comparePolicies);
  const nodes = new Map(
    [...cluster.nodes.values()].flatMap(node =>
      [...node.addresses, ...(node.interfaceAddresses ?? [])].map(address => [address, node] as const),
    ),
  );
  const known = new WeakMap<Pod, Map<string, readonly Policy[]>>();
  const policiesOn = (pod: Pod, direction: Direction, tier: Tier): readonly Policy[] => {
    const of = known.get(pod) ?? new Map<string, readonly Policy[]>();
    known.set(pod, of);
    const key = `${tier} ${direction}`;
    const found = of.get(key) ?? affecting(ordered, cluster, pod, direction, tier);
    of.set(key, found);
    return found;
  };
  return {
    cluster,
    owners,
    nodeWith: address => nodes.get(address),
    unknownPodOf: unknownPodFinder(cluster, owners, unknownPods),
    policiesOn,
  };
}

function affecting(
  ordered: readonly Policy[],
  cluster: Cluster,
  pod: Pod,
  direction: Direction,
  tier: Tier,
): readonly Policy[] {
  return ordered
    .filter(policy => policy.tier === tier)
    .flatMap(policy => asSeenBy(pod, policy, cluster))
    .filter(policy => policy[direction] !== undefined);
}
