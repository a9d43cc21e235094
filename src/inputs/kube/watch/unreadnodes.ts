import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Policy, PolicyId, Rule } from '../../../model/policy.ts';

/**
 * Closes what is said of nodes as long as nobody knows them: any address may be a node's, so a rule that denies nodes, or
 * passes them, denies everybody (N68). What accepts nodes matches nothing anyhow.
 */
export class UnreadNodes {
  #areKnown = false;
  /** Policies that speak of nodes, as they are. */
  readonly #policies = new Map<PolicyId, ClusterEvent>();

  /** From now on they are known; answers the policies that may be published as they are. */
  setKnown(): readonly ClusterEvent[] {
    if (this.#areKnown) return [];
    this.#areKnown = true;
    const waiting = [...this.#policies.values()];
    this.#policies.clear();
    return waiting;
  }

  pass(events: readonly ClusterEvent[]): readonly ClusterEvent[] {
    return this.#areKnown ? events : events.map(event => this.#close(event));
  }

  #close(event: ClusterEvent): ClusterEvent {
    if (event.type !== 'policy') return event;
    this.#policies.delete(event.key);
    if (event.value === undefined || !deniesNodes(event.value)) return event;
    this.#policies.set(event.key, event);
    return { ...event, value: { ...event.value, egress: event.value.egress!.map(closed) } };
  }
}

function deniesNodes({ egress = [] }: Policy): boolean {
  return egress.some(rule => closed(rule) !== rule);
}

function closed(rule: Rule): Rule {
  const { action, peers } = rule;
  if (action === 'accept' || peers === 'any' || !peers.some(({ kind }) => kind === 'nodes')) return rule;
  return { ...rule, action: 'deny', peers: 'any' };
}
