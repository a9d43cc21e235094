/**
 * What the NetworkPolicies of one namespace may cost together. If they cost more, those whose names come first are in
 * force, as many as fit; each of the others isolates what it selects and allows nothing. The result depends on the
 * policies alone, never on the order in which they arrived.
 */
import type { ClusterEvent } from './cluster.ts';
import { namespaceOfPolicy, type Policy, type PolicyId, rulesOf, withoutRules } from './policy.ts';
import { countEntries } from './policysize.ts';
import type { Problem } from './problem.ts';
import { type PodSelector, podSelectorText } from './selector.ts';

/**
 * For all policies of a namespace together: entries, counted as for one policy with one more for each policy, and
 * distinct pod selectors, each of which may be a set of thousands of addresses.
 */
export interface NamespaceLimits {
  /** Policies with rules: all that select a pod are compiled together, and again whenever one of them is edited. */
  readonly policies: number;
  readonly entries: number;
  readonly selectors: number;
}

const ROOM: NamespaceLimits = { policies: 2_000, entries: 25_000, selectors: 1_000 };
/** Beyond this, problems of one kind are counted and not listed. */
const MOST_PROBLEMS = 200;

type PolicyEvent = Extract<ClusterEvent, { type: 'policy' }>;

/** A policy as its author wrote it, and its cost. */
interface Entry {
  readonly id: PolicyId;
  readonly policy: Policy;
  readonly entries: number;
  /** The distinct pod selectors of its peers, as text. */
  readonly selectors: readonly string[];
  isRefused: boolean;
}

interface NamespacePolicies {
  /** The policies of the namespace, sorted by name. */
  readonly inOrder: Entry[];
  /** The entries of all policies of the namespace. */
  entries: number;
  /** How many of the policies have each selector. */
  readonly selectors: Map<string, number>;
  refused: number;
}

export class NamespaceBudget {
  readonly #namespaces = new Map<string, NamespacePolicies>();
  readonly #room: NamespaceLimits;
  /** The same list until a policy is refused that was not before, or the other way round. */
  #problems: readonly Problem[] | undefined = [];

  constructor(room = ROOM) {
    this.#room = room;
  }

  /**
   * Returns the events with refused policies without rules, and events for policies that are refused, or no longer
   * refused, because others have changed.
   */
  pass(events: readonly ClusterEvent[]): readonly ClusterEvent[] {
    const touched = new Map<PolicyId, PolicyEvent>();
    for (const event of events) if (isNamespaced(event)) touched.set(event.key, event);
    if (touched.size === 0) return events;
    for (const event of touched.values()) this.#take(event);
    const names = new Set([...touched.keys()].map(namespaceOfPolicy));
    const changed = [...names].flatMap(name => this.#judge(name));
    return [
      ...events.map(event => (isNamespaced(event) ? this.#asItCounts(event) : event)),
      ...changed.filter(({ id }) => !touched.has(id)).map(eventOf),
    ];
  }

  problems(): readonly Problem[] {
    this.#problems ??= [...this.#namespaces.values()].flatMap(namespace => this.#problemsOf(namespace));
    return this.#problems;
  }

  #problemsOf({ inOrder, refused }: NamespacePolicies): Problem[] {
    if (refused === 0) return [];
    const found = inOrder.filter(({ isRefused }) => isRefused);
    const named = found.slice(0, MOST_PROBLEMS).map(entry => problemOf(entry, this.#room));
    return found.length > named.length ? [...named, furtherOnes(found.slice(named.length))] : named;
  }

  #take({ key, value }: PolicyEvent): void {
    const name = namespaceOfPolicy(key);
    const namespace = this.#namespaces.get(name) ?? newNamespace();
    this.#namespaces.set(name, namespace);
    const at = placeOf(key, namespace.inOrder);
    const before = namespace.inOrder[at]?.id === key ? namespace.inOrder[at] : undefined;
    // An audited policy costs the kernel nothing, so it does not count.
    const after = value && !value.audited ? newEntry(value, before?.isRefused ?? false) : undefined;
    namespace.inOrder.splice(at, before === undefined ? 0 : 1, ...(after === undefined ? [] : [after]));
    this.#count(namespace, after, 1);
    this.#count(namespace, before, -1);
    if (before?.isRefused) this.#problems = undefined;
    if (before?.isRefused && after === undefined) namespace.refused--;
    if (namespace.inOrder.length === 0) this.#namespaces.delete(name);
  }

  #count(namespace: NamespacePolicies, entry: Entry | undefined, times: 1 | -1): void {
    namespace.entries += times * (entry?.entries ?? 0);
    for (const text of entry?.selectors ?? []) count(namespace.selectors, text, times);
  }

  /** Decides again which policies are in force. Returns those for which that has changed. */
  #judge(name: string): readonly Entry[] {
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined) return [];
    const { inOrder, entries, selectors } = namespace;
    const isWithin = fits({ policies: inOrder.length, entries, selectors: selectors.size }, this.#room);
    if (isWithin && namespace.refused === 0) return [];
    const changed = decidedOtherwise(inOrder, isWithin ? undefined : this.#room);
    for (const entry of changed) {
      entry.isRefused = !entry.isRefused;
      namespace.refused += entry.isRefused ? 1 : -1;
    }
    if (changed.length > 0) this.#problems = undefined;
    return changed;
  }

  #asItCounts(event: PolicyEvent): PolicyEvent {
    const { inOrder = [] } = this.#namespaces.get(namespaceOfPolicy(event.key)) ?? {};
    const entry = inOrder[placeOf(event.key, inOrder)];
    return entry?.id === event.key && entry.isRefused ? eventOf(entry) : event;
  }
}

/**
 * The policies for which the decision changes. A policy is refused if there is no room for it after all policies that
 * come before it by name and are not refused; without a limit none is refused. This is one pass without intermediate
 * lists: a tenant may have ten thousand policies, and edit one of them all the time.
 */
function decidedOtherwise(inOrder: readonly Entry[], room: NamespaceLimits | undefined): Entry[] {
  if (room === undefined) return inOrder.filter(({ isRefused }) => isRefused);
  const changed: Entry[] = [];
  const selectors = new Set<string>();
  let [policies, entries] = [0, 0];
  for (const entry of inOrder) {
    const others = entry.selectors.reduce((found, text) => found + Number(!selectors.has(text)), 0);
    const needed = {
      policies: policies + 1,
      entries: entries + entry.entries,
      selectors: selectors.size + others,
    };
    const isRefused = !fits(needed, room);
    if (isRefused !== entry.isRefused) changed.push(entry);
    if (isRefused) continue;
    ({ policies, entries } = needed);
    for (const text of entry.selectors) selectors.add(text);
  }
  return changed;
}

/** The index of the policy, or the index at which it would be inserted. */
function placeOf(id: PolicyId, inOrder: readonly Entry[]): number {
  let [low, high] = [0, inOrder.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (inOrder[middle]!.id < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A page that edits manifests counts the same policies anew with each key. */
const SELECTORS = new WeakMap<Policy, readonly string[]>();

function newEntry(policy: Policy, isRefused: boolean): Entry {
  const selectors = SELECTORS.get(policy) ?? [...new Set(selectorsOf(policy).map(podSelectorText))];
  SELECTORS.set(policy, selectors);
  return { id: policy.id, policy, entries: 1 + countEntries(policy), selectors, isRefused };
}

function eventOf({ id, policy, isRefused }: Entry): PolicyEvent {
  return { type: 'policy', key: id, value: isRefused ? withoutRules(policy, 'namespace too large') : policy };
}

function isNamespaced(event: ClusterEvent): event is PolicyEvent {
  return event.type === 'policy' && event.key.startsWith('NetworkPolicy ');
}

function selectorsOf(policy: Policy): PodSelector[] {
  return rulesOf(policy).flatMap(({ peers }) =>
    peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : [])),
  );
}

function count(counts: Map<string, number>, text: string, more: number): void {
  const now = (counts.get(text) ?? 0) + more;
  if (now === 0) counts.delete(text);
  else counts.set(text, now);
}

function fits({ policies, entries, selectors }: NamespaceLimits, room: NamespaceLimits): boolean {
  return policies <= room.policies && entries <= room.entries && selectors <= room.selectors;
}

function newNamespace(): NamespacePolicies {
  return { inOrder: [], entries: 0, selectors: new Map(), refused: 0 };
}

/** The problem that counts refused policies which are not listed. */
function furtherOnes(refused: readonly Entry[]): Problem {
  const namespace = namespaceOfPolicy(refused[0]!.id);
  return {
    severity: 'error',
    message: `${refused.length} further policies of namespace ${namespace} are too much for it, too`,
    effect: 'each of them isolates its pods and allows nothing until they are fewer',
  };
}

/** The text depends on the policy alone, so that an edit of one policy does not report the problems of all again. */
function problemOf({ id, entries, selectors }: Entry, room: NamespaceLimits): Problem {
  const [namespace, name] = id.slice(id.indexOf(' ') + 1).split('/') as [string, string];
  return {
    severity: 'error',
    object: id,
    about: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', name, namespace },
    message: `is too much for its namespace, which may have ${room.policies} policies, with ${room.entries} entries and ${room.selectors} selectors of pods together: those whose names come first leave less than this one needs, with ${entries} entries and ${selectors.length} ${selectors.length === 1 ? 'selector' : 'selectors'}`,
    effect: 'the policy isolates its pods and allows nothing until they are fewer',
  };
}
