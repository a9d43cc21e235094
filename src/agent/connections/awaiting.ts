/**
 * Whose open connections are not judged yet: those of pods that a new policy isolates while its allowances are on their
 * way (admission/change.ts). What is new is denied at once. What is open may be what the policy is about to allow, and once
 * cut it does not come back through a Service, which would lead its next packet to another pod. So it is judged when the
 * allowances are in force, or after a second without them: as late as if the policy had not isolated before.
 */
import type { Address } from '../../model/address.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import { namespaceOfPolicy, type Policy, type PolicyId } from '../../model/policy.ts';
import { selects } from '../../semantics/match.ts';
import type { Committed } from '../committed.ts';

/** To ask more of a namespace for each of its pods would hold the loop. */
const MOST_OF_NAMESPACE = 50;

export class AwaitingAllowances {
  readonly #node: string | undefined;
  readonly #mostMs: number;
  readonly #sinceMs = new Map<PolicyId, number>();

  constructor(node: string | undefined, mostMs: number) {
    this.#node = node;
    this.#mostMs = mostMs;
  }

  /** Addresses of the pods that such policies select now. */
  of(cluster: Cluster, isolating: Committed['isolating'], nowMs: number): ReadonlySet<Address> {
    for (const id of this.#sinceMs.keys()) if (!isolating.has(id)) this.#sinceMs.delete(id);
    for (const id of isolating) if (!this.#sinceMs.has(id)) this.#sinceMs.set(id, nowMs);
    const young = [...isolating].filter(id => nowMs - this.#sinceMs.get(id)! < this.#mostMs);
    return young.length === 0 ? new Set() : addressesSelected(cluster, this.#node, young);
  }
}

function addressesSelected(cluster: Cluster, node: string | undefined, ids: readonly PolicyId[]) {
  const byNamespace = Map.groupBy(ids, namespaceOfPolicy);
  const isSelected = (pod: Pod): boolean => {
    const its = byNamespace.get(pod.namespace) ?? [];
    if (pod.node !== node || its.length > MOST_OF_NAMESPACE) return false;
    return its.some(id => maySelect(cluster, cluster.policies.get(id), pod));
  };
  return new Set([...cluster.pods.values()].filter(isSelected).flatMap(({ addresses }) => addresses));
}

const maySelect = (cluster: Cluster, policy: Policy | undefined, pod: Pod) =>
  policy !== undefined && selects(cluster, policy.subject, pod) !== 'no';
