/**
 * Whether policies isolate a workload, by direction: what no rule allows is denied, and no rule allows everything. The tiers are
 * asked in their order (C1). A NetworkPolicy that selects a pod isolates it; a cluster policy does where it denies all pods all
 * ports.
 */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { type Cluster, isSelectable, namespaceOf } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labelled } from '../../model/labels.ts';
import {
  comparePolicies,
  type Direction,
  type Policy,
  type PolicyId,
  type Rule,
} from '../../model/policy.ts';
import { type LabelSelector, matchSubject, type PodSelector } from '../../model/selector.ts';
import { podsByWorkload, topWorkloads } from '../../model/workloadof.ts';

export interface CoveredWorkload {
  /** `Deployment shop/web`, `Pod shop/one`. */
  readonly workload: string;
  readonly namespace: string;
  readonly ingress: Isolation;
  readonly egress: Isolation;
}

export interface Isolation {
  readonly isolated: boolean;
  /** The policy that isolates it, or that allows everything; absent where no policy is about it. */
  readonly by?: PolicyId;
}

export type Asked = (item: { readonly namespace: string; readonly labels: Labelled['labels'] }) => boolean;

export function coveredWorkloads(
  cluster: Cluster,
  inventory: Inventory,
  isAsked: Asked,
): readonly CoveredWorkload[] {
  const inTiers = new PoliciesInTiers([...cluster.policies.values()].toSorted(comparePolicies));
  const found = [...podsOf(cluster, inventory)].flatMap(([workload, pods]) => {
    const asked = pods.filter(isAsked);
    if (asked.length === 0) return [];
    const of = (direction: Direction) => ofAll(asked.map(pod => inTiers.isolation(cluster, pod, direction)));
    const { namespace } = asked[0]!;
    return [{ workload, namespace, ingress: of('ingress'), egress: of('egress') }];
  });
  return found.sort((a, b) => (a.workload < b.workload ? -1 : 1));
}

type PodLike = Labelled & { readonly namespace: string };

/** The pods that policy may select, by workload; of a workload without pods, its template. */
function podsOf(cluster: Cluster, inventory: Inventory): ReadonlyMap<string, readonly PodLike[]> {
  const found = new Map<string, readonly PodLike[]>();
  const known = podsByWorkload(cluster, inventory);
  for (const [workload, pods] of known) found.set(workload, pods.filter(isSelectable));
  for (const workload of topWorkloads(inventory))
    if (!(known.has(workload.id) || workload.hostNetwork)) found.set(workload.id, [workload]);
  return found;
}

/** What is said of a workload is true of each of its pods. */
function ofAll(pods: readonly Isolation[]): Isolation {
  return pods.find(({ isolated }) => !isolated) ?? pods[0]!;
}

class PoliciesInTiers {
  /** Policies that name their namespace, by it; under the empty name the others. */
  readonly #byNamespace = new Map<string, Policy[]>();

  constructor(sorted: readonly Policy[]) {
    for (const policy of sorted) {
      const { namespaces } = policy.subject;
      getOrMake(this.#byNamespace, namespaces.kind === 'name' ? namespaces.name : '', () => []).push(policy);
    }
  }

  isolation(cluster: Cluster, pod: PodLike, direction: Direction): Isolation {
    const namespace = namespaceOf(cluster, pod.namespace);
    const selecting = ['', pod.namespace]
      .flatMap(name => this.#byNamespace.get(name) ?? [])
      .filter(
        policy => policy[direction] !== undefined && matchSubject(policy.subject, pod, namespace) === 'yes',
      );
    const ofTier = (tier: Policy['tier']) => selecting.filter(policy => policy.tier === tier);
    return (
      byCatchAll(ofTier('admin'), direction) ??
      byNetworkPolicies(ofTier('networkpolicy'), direction) ??
      byCatchAll(ofTier('baseline'), direction) ?? { isolated: false }
    );
  }
}

/** Undefined where the tier decides nothing for all pods: its first rule for all of them counts. */
function byCatchAll(policies: readonly Policy[], direction: Direction): Isolation | undefined {
  for (const policy of policies) {
    const rule = policy[direction]!.find(isForAllPods);
    if (rule?.action === 'pass') return undefined;
    if (rule !== undefined) return { isolated: rule.action === 'deny', by: policy.id };
  }
  return undefined;
}

function byNetworkPolicies(policies: readonly Policy[], direction: Direction): Isolation | undefined {
  const [first] = policies;
  if (first === undefined) return undefined;
  const isForAll = ({ peers, ports }: Rule) => peers === 'any' && ports === 'any';
  const open = policies.find(policy => policy[direction]!.some(isForAll));
  return { isolated: open === undefined, by: (open ?? first).id };
}

function isForAllPods({ peers, ports }: Rule): boolean {
  const isForAll = peers === 'any' || peers.some(peer => peer.kind === 'pods' && isAllPods(peer.selector));
  return ports === 'any' && isForAll;
}

function isAllPods({ namespaces, pods }: PodSelector): boolean {
  return namespaces.kind === 'labels' && [namespaces.selector, pods].every(isEverything);
}

function isEverything({ requirements, unreadable }: LabelSelector): boolean {
  return requirements.length === 0 && !unreadable;
}
