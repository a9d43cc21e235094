/**
 * What the NetworkPolicies of one namespace may cost everybody together. Where they are more than that, those whose names
 * come first are in force, as many as there is room for; each of the others isolates what it selects and allows
 * nothing. It depends on what the policies are, never on the order in which they came.
 */
import type { ClusterEvent } from './cluster.ts';
import type { Peer, Policy, PolicyId } from './policy.ts';
import { countEntries } from './policysize.ts';
import type { Problem } from './problem.ts';

/**
 * Of all policies of a namespace: entries, counted like those of one policy and one more for itself, and distinct
 * selectors of pods, each of which may be a set of thousands of addresses.
 */
export interface Room {
  readonly entries: number;
  readonly selectors: number;
}

const ROOM: Room = { entries: 25_000, selectors: 1_000 };
/** Nobody reads more problems of one kind. */
const MOST_PROBLEMS = 200;

type PolicyEvent = Extract<ClusterEvent, { type: 'policy' }>;

interface NamespacePolicies {
  /** As their authors wrote them. */
  readonly policies: Map<PolicyId, Policy>;
  entries: number;
  /** How many of the policies name each selector. */
  readonly selectors: Map<string, number>;
  refused: ReadonlySet<PolicyId>;
}

export class NamespaceBudget {
  readonly #namespaces = new Map<string, NamespacePolicies>();
  readonly #room: Room;

  constructor(room = ROOM) {
    this.#room = room;
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
    return [...this.#namespaces.values()].flatMap(({ refused, entries, selectors }) =>
      [...refused]
        .slice(0, MOST_PROBLEMS)
        .map(id => problemOf(id, { entries, selectors: selectors.size }, this.#room)),
    );
  }

  #take({ key, value }: PolicyEvent): void {
    const name = namespaceOf(key);
    const namespace = this.#namespaces.get(name) ?? newNamespace();
    this.#namespaces.set(name, namespace);
    const before = namespace.policies.get(key);
    namespace.entries += costOf(value) - costOf(before);
    for (const text of selectorsOf(value)) count(namespace.selectors, text, 1);
    for (const text of selectorsOf(before)) count(namespace.selectors, text, -1);
    if (value === undefined) namespace.policies.delete(key);
    else namespace.policies.set(key, value);
  }

  /** Decides anew which policies are in force; answers those of which it decides otherwise than before. */
  #judge(name: string): readonly PolicyId[] {
    const namespace = this.#namespaces.get(name)!;
    const before = namespace.refused;
    namespace.refused = this.#isWithin(namespace) ? NONE : this.#beyond(namespace.policies);
    if (namespace.policies.size === 0) this.#namespaces.delete(name);
    const { policies, refused } = namespace;
    return [...new Set([...before, ...refused])].filter(
      id => policies.has(id) && before.has(id) !== refused.has(id),
    );
  }

  /** Those for which there is no room after all that come before them by name and have found some. */
  #beyond(policies: ReadonlyMap<PolicyId, Policy>): ReadonlySet<PolicyId> {
    const refused = new Set<PolicyId>();
    const selectors = new Set<string>();
    let entries = 0;
    for (const id of [...policies.keys()].sort()) {
      const policy = policies.get(id)!;
      const others = selectorsOf(policy).filter(text => !selectors.has(text));
      const needed = { entries: entries + costOf(policy), selectors: selectors.size + others.length };
      if (!fits(needed, this.#room)) refused.add(id);
      else {
        entries = needed.entries;
        for (const text of others) selectors.add(text);
      }
    }
    return refused;
  }

  #isWithin({ entries, selectors }: NamespacePolicies): boolean {
    return fits({ entries, selectors: selectors.size }, this.#room);
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

const costs = new WeakMap<Policy, number>();

function costOf(policy: Policy | undefined): number {
  if (policy === undefined) return 0;
  const cost = costs.get(policy) ?? 1 + countEntries(policy);
  costs.set(policy, cost);
  return cost;
}

/** The policy without its rules. */
function isolating({ ingress, egress, ...policy }: Policy): Policy {
  return {
    ...policy,
    ...(ingress !== undefined && { ingress: [] }),
    ...(egress !== undefined && { egress: [] }),
  };
}

const texts = new WeakMap<Policy, readonly string[]>();

/** The distinct selectors of pods that the policy names as peers, as text. */
function selectorsOf(policy: Policy | undefined): readonly string[] {
  if (policy === undefined) return [];
  const known = texts.get(policy) ?? [...new Set(peersOf(policy).map(peer => JSON.stringify(peer)))];
  texts.set(policy, known);
  return known;
}

function peersOf({ ingress = [], egress = [] }: Policy): Peer[] {
  return [...ingress, ...egress].flatMap(({ peers }) =>
    peers === 'any' ? [] : peers.filter(({ kind }) => kind === 'pods'),
  );
}

function count(counts: Map<string, number>, text: string, more: number): void {
  const now = (counts.get(text) ?? 0) + more;
  if (now === 0) counts.delete(text);
  else counts.set(text, now);
}

function fits({ entries, selectors }: Room, room: Room): boolean {
  return entries <= room.entries && selectors <= room.selectors;
}

function newNamespace(): NamespacePolicies {
  return { policies: new Map(), entries: 0, selectors: new Map(), refused: NONE };
}

function problemOf(id: PolicyId, { entries, selectors }: Room, room: Room): Problem {
  const [namespace, name] = id.slice(id.indexOf(' ') + 1).split('/') as [string, string];
  return {
    severity: 'error',
    object: id,
    about: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', name, namespace },
    message: `has no room: the policies of its namespace have ${entries} entries and ${selectors} selectors of pods together, and ${room.entries} and ${room.selectors} are the most`,
    effect:
      'the policy isolates its pods and allows nothing until they are fewer; those whose names come first stay in force',
  };
}
