/**
 * Applies changes of nodes to what depends on their addresses beside those of their status: the marks of policies that
 * mean them, and the groups that contain such addresses. None of this runs where nodes have no tunnels (N75) and no
 * policy denies or passes nodes (C59).
 */
import type { Address } from '../../model/address.ts';
import type { ClusterState, PodKey } from '../../model/cluster.ts';
import type { PolicyId } from '../../model/policy.ts';
import { numbersOf } from '../entrances.ts';
import { containsEntrance, deniesNodes, withoutMarks } from '../tunnelnodes.ts';
import type { LiveParts } from './liveparts.ts';
import type { PodIndex } from './pods/podindex.ts';

/** The objects that events have changed; what changes with them is added. */
interface Marked {
  readonly node: Set<string>;
  readonly policy: Set<PolicyId>;
}

export class LiveTunnels {
  readonly #state: ClusterState;
  readonly #podIndex: PodIndex;
  readonly #groups: LiveParts['groups'];

  constructor({ state, podIndex, groups }: Pick<LiveParts, 'state' | 'podIndex' | 'groups'>) {
    this.#state = state;
    this.#podIndex = podIndex;
    this.#groups = groups;
  }

  /** Call before the policies and nodes are applied. */
  take(marked: Marked): void {
    const entrances = this.#takeNodes(marked);
    if (marked.node.size > 0)
      for (const [id, policy] of this.#state.policies) if (deniesNodes(policy)) this.#mark(id, marked);
    if (entrances.length > 0) {
      const numbers = numbersOf(entrances);
      for (const [id, policy] of this.#state.policies)
        if (!marked.policy.has(id) && containsEntrance(policy, numbers)) this.#mark(id, marked);
    }
    for (const id of [...marked.policy]) this.#mark(id, marked);
  }

  /** Returns the InternalIPs of the nodes whose tunnel addresses may be different. */
  #takeNodes({ node }: Marked): Address[] {
    const { tunnels } = this.#podIndex;
    const entrances: Address[] = [];
    for (const name of [...node]) {
      const before = tunnels.internalIpsOf(name);
      const changed = tunnels.put(name, this.#state.nodes.get(name));
      if (changed.length > 0) entrances.push(...before);
      for (const other of changed) {
        node.add(other);
        entrances.push(...tunnels.internalIpsOf(other));
      }
    }
    return entrances;
  }

  #mark(id: PolicyId, { policy }: Marked): void {
    const before = this.#state.policies.get(id);
    if (before === undefined) return;
    const value = this.#podIndex.tunnels.marked(withoutMarks(before));
    if (value === before) return;
    this.#state.apply({ type: 'policy', key: id, value });
    policy.add(id);
  }

  /** Call after these pods were applied: a tunnel address that a pod has is none of a node. */
  takePods(pods: Iterable<PodKey>): void {
    const { tunnels } = this.#podIndex;
    const addresses = tunnels.givenUp();
    for (const key of pods) addresses.push(...(this.#podIndex.indexedPod(key)?.pod.addresses ?? []));
    for (const holder of tunnels.nodesWith(addresses)) this.#groups.refreshNode(holder);
  }
}
