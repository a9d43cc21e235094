/**
 * What the NetworkPolicies of one namespace may cost everybody together. Where they are more than that, those whose names
 * come first are in force, as many as there is room for; each of the others isolates what it selects and allows
 * nothing. It depends on what the policies are, never on the order in which they came.
 */
import type { ClusterEvent } from './cluster.ts';
import type { Policy, PolicyId } from './policy.ts';
import { countEntries } from './policysize.ts';
import type { Problem } from './problem.ts';

/** Of all policies of a namespace, counted like those of one; a policy counts for one more. */
const MOST_ENTRIES = 25_000;
/** Nobody reads more problems of one kind. */
const MOST_PROBLEMS = 200;

type PolicyEvent = Extract<ClusterEvent, { type: 'policy' }>;

interface NamespacePolicies {
  /** As their authors wrote them. */
  readonly policies: Map<PolicyId, Policy>;
  entries: number;
  refused: ReadonlySet<PolicyId>;
}

export class NamespaceBudget {
  readonly #namespaces = new Map<string, NamespacePolicies>();
  readonly #mostEntries: number;

  constructor(mostEntries = MOST_ENTRIES) {
    this.#mostEntries = mostEntries;
  }

  /** The events with every policy as it counts, and events of those that count in another way since others changed. */
  pass(events: readonly ClusterEvent[]): readonly ClusterEvent[] {
    const touched = new Map<PolicyId, PolicyEvent>();
    for (const event of events) if (isNamespaced(event)) touched.set(event.key, event);
    if (touched.size === 0) return events;
    for (const event of touched.values()) this.#take(event);
    const changed = [...new Set([...touched.keys()].map(namespaceOf))].flatMap(name => this.#judge(name));
    return [
      ...events.map(event => (isNamespaced(event) ? this.#asItCounts(event) : event)),
      ...changed.filter(id => !touched.has(id)).map(id => this.#asItCounts(this.#given(id))),
    ];
  }

  problems(): readonly Problem[] {
    return [...this.#namespaces.values()].flatMap(({ refused, entries }) =>
      [...refused].slice(0, MOST_PROBLEMS).map(id => problemOf(id, entries, this.#mostEntries)),
    );
  }

  #take({ key, value }: PolicyEvent): void {
    const name = namespaceOf(key);
    const namespace = this.#namespaces.get(name) ?? { policies: new Map(), entries: 0, refused: NONE };
    this.#namespaces.set(name, namespace);
    const before = namespace.policies.get(key);
    namespace.entries += costOf(value) - costOf(before);
    if (value === undefined) namespace.policies.delete(key);
    else namespace.policies.set(key, value);
  }

  /** Decides anew which policies are in force; answers those of which it decides otherwise than before. */
  #judge(name: string): readonly PolicyId[] {
    const namespace = this.#namespaces.get(name)!;
    const before = namespace.refused;
    namespace.refused = namespace.entries <= this.#mostEntries ? NONE : this.#beyond(namespace.policies);
    if (namespace.policies.size === 0) this.#namespaces.delete(name);
    const { policies, refused } = namespace;
    return [...new Set([...before, ...refused])].filter(
      id => policies.has(id) && before.has(id) !== refused.has(id),
    );
  }

  /** Those for which there is no room after all that come before them by name and have found some. */
  #beyond(policies: ReadonlyMap<PolicyId, Policy>): ReadonlySet<PolicyId> {
    const refused = new Set<PolicyId>();
    let room = this.#mostEntries;
    for (const id of [...policies.keys()].sort()) {
      const cost = costOf(policies.get(id));
      if (cost > room) refused.add(id);
      else room -= cost;
    }
    return refused;
  }

  #given(id: PolicyId): PolicyEvent {
    return { type: 'policy', key: id, value: this.#namespaces.get(namespaceOf(id))!.policies.get(id)! };
  }

  #asItCounts(event: PolicyEvent): PolicyEvent {
    const { key, value } = event;
    const isRefused = this.#namespaces.get(namespaceOf(key))?.refused.has(key) ?? false;
    return value === undefined || !isRefused ? event : { type: 'policy', key, value: isolating(value) };
  }
}

const NONE: ReadonlySet<PolicyId> = new Set();

function isNamespaced(event: ClusterEvent): event is PolicyEvent {
  return event.type === 'policy' && event.key.startsWith('NetworkPolicy ');
}

function namespaceOf(id: PolicyId): string {
  return id.slice(id.indexOf(' ') + 1, id.indexOf('/'));
}

function costOf(policy: Policy | undefined): number {
  return policy === undefined ? 0 : 1 + countEntries(policy);
}

/** The policy without its rules. */
function isolating({ ingress, egress, ...policy }: Policy): Policy {
  return {
    ...policy,
    ...(ingress !== undefined && { ingress: [] }),
    ...(egress !== undefined && { egress: [] }),
  };
}

function problemOf(id: PolicyId, entries: number, most: number): Problem {
  const [namespace, name] = id.slice(id.indexOf(' ') + 1).split('/') as [string, string];
  return {
    severity: 'error',
    object: id,
    about: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', name, namespace },
    message: `has no room: the policies of its namespace have ${entries} entries together, and ${most} are the most`,
    effect:
      'the policy isolates its pods and allows nothing until they are fewer; those whose names come first stay in force',
  };
}
