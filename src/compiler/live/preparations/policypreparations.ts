/**
 * Prepares changes of policies before they are applied (preparations.ts): the classes in which the pods of this node
 * will be after the change, and the groups that these need.
 *
 *     want(changes) ─▶ flushes prepare what they need ─▶ isReady ─▶ the change is applied
 *
 * Changes of an oversized namespace are prepared together (`NamespaceBatch`).
 */
import {
  DIRECTIONS,
  namespaceOfPolicy,
  type Policy,
  type PolicyId,
  type Rule,
  rulesOf,
} from '../../../model/policy.ts';
import type { PolicyChange } from '../../../model/policychange.ts';
import { countEntries } from '../../../model/policysize.ts';
import type { PodClass } from '../../classes.ts';
import { isSmallPolicy } from '../../shares.ts';
import type { LiveParts } from '../liveparts.ts';
import type { IndexedPod } from '../pods/podindex.ts';
import { countPeersLookedAt, type LivePreparations, type PreparationRequest } from './preparations.ts';

/** Counting stops here: more is as good as this. */
const MOST_COUNTED = 20_000;
/**
 * Entries of small policies, summed over the pods of a namespace, that one flush may compile again to apply changes.
 */
export const MOST_AT_ONCE = 100_000;

/** Whether it has peers of which the policy's text does not say how many there are. */
function hasClusterPeers(policy: Policy | undefined): boolean {
  const isOfCluster = ({ peers }: Rule) =>
    peers !== 'any' && peers.some(({ kind }) => kind === 'pods' || kind === 'nodes');
  return policy !== undefined && !policy.audited && rulesOf(policy).some(isOfCluster);
}

/** Whether compiling its rules alone takes long. */
function isLarge(policy: Policy | undefined): boolean {
  return (
    policy !== undefined && !policy.audited && DIRECTIONS.some(direction => !isSmallPolicy(policy, direction))
  );
}

/** The batch of an oversized namespace that is being prepared. */
interface Next {
  readonly together: NamespaceBatch;
  readonly request: PreparationRequest;
}

export class PolicyPreparations {
  readonly #live: LiveParts;
  readonly #preparations: LivePreparations;
  readonly #mostEntries: number;
  /** Batches by namespace. */
  #oversized: ReadonlyMap<string, Next> = new Map();

  /** A change as pods see it: an audited policy is in no class, and others have the marks of TunnelNodes. */
  readonly #inForce = ({ id, value }: PolicyChange): PolicyChange => {
    if (value?.audited) return { id, value: undefined };
    const { tunnels } = this.#live.podIndex;
    if (value === undefined || (tunnels.nodes.size === 0 && value.tier === 'networkpolicy'))
      return { id, value };
    return { id, value: tunnels.marked(value) };
  };

  constructor(live: LiveParts, preparations: LivePreparations, mostEntries: number) {
    this.#live = live;
    this.#preparations = preparations;
    this.#mostEntries = mostEntries;
  }

  /**
   * Prepares these changes from now on, and no others. The changes of an oversized namespace come in the given order.
   */
  want(changes: readonly PolicyChange[]): void {
    const oversized = new Map<string, Next>();
    const alone: PreparationRequest[] = [];
    for (const [namespace, its] of Map.groupBy(changes, ({ id }) => namespaceOfPolicy(id))) {
      if (this.isOversized(namespace)) oversized.set(namespace, this.#nextOf(namespace, its));
      else alone.push(...its.filter(change => this.#isNeeded(change)).map(change => this.#requestOf(change)));
    }
    this.#oversized = oversized;
    this.#preparations.request('policy', [
      ...alone,
      ...[...oversized.values()].map(({ request }) => request),
    ]);
  }

  /** Whether a change that was passed to `want` is prepared, or needs no preparation. */
  isReady(change: PolicyChange): boolean {
    const namespace = namespaceOfPolicy(change.id);
    if (!this.isOversized(namespace))
      return !this.#isNeeded(change) || this.#preparations.isReady(this.#requestOf(change));
    const next = this.#oversized.get(namespace);
    return next !== undefined && isAmong(next.together, change) && this.#preparations.isReady(next.request);
  }

  /** Whether the classes of its pods have so many entries that changes of its policies are prepared together. */
  isOversized(namespace: string): boolean {
    return this.#live.classes.entriesIn(namespace) > this.#mostEntries;
  }

  /**
   * About how many pods the groups of the change would look at if none existed, with the groups that it is merged into;
   * stops counting at `MOST_COUNTED`.
   */
  countLookedAt(change: PolicyChange): number {
    if (!this.#isNeeded(change)) return 0;
    const rules = change.value === undefined ? [] : rulesOf(change.value);
    let asked = countPeersLookedAt(rules, this.#live.podIndex, MOST_COUNTED);
    if (asked >= MOST_COUNTED) return asked;
    for (const podClass of this.#currentClasses([change])) {
      if (asked >= MOST_COUNTED) return asked;
      asked += this.#live.classes.countMerged(podClass);
    }
    return asked;
  }

  #isNeeded({ id, value }: PolicyChange): boolean {
    return isLarge(value) || hasClusterPeers(value) || hasClusterPeers(this.#live.placements.policy(id));
  }

  #requestOf(change: PolicyChange): PreparationRequest {
    return {
      of: 'policy',
      key: change.id,
      namespace: namespaceOfPolicy(change.id),
      version: change.value,
      weight: change.value === undefined ? 1 : countEntries(change.value),
      inputs: () => this.#currentClasses([change]),
      targetClasses: () => this.#live.placements.targetClasses([this.#inForce(change)], this.#pods()),
    };
  }

  #nextOf(namespace: string, waiting: readonly PolicyChange[]): Next {
    const before = this.#oversized.get(namespace);
    const together = nextBatch(waiting, before?.together);
    if (together === before?.together) return before;
    return { together, request: this.#requestOfAll(namespace, together) };
  }

  #requestOfAll(namespace: string, together: NamespaceBatch): PreparationRequest {
    const changes = changesOfBatch(together);
    return {
      of: 'policy',
      key: `all of ${namespace}`,
      namespace,
      version: together,
      weight: this.#live.classes.entriesIn(namespace),
      inputs: this.#asLongAsPlaced(() => this.#currentClasses(changes)),
      targetClasses: () => this.#live.placements.targetClasses(changes.map(this.#inForce), this.#pods()),
    };
  }

  /** Computes the value again only when pods have moved to other classes: it is needed for each change. */
  #asLongAsPlaced<T>(find: () => T): () => T {
    let found: { readonly version: number; readonly value: T } | undefined;
    return () => {
      const { version } = this.#live.placements;
      if (found?.version !== version) found = { version, value: find() };
      return found.value;
    };
  }

  #currentClasses(changes: readonly PolicyChange[]): ReadonlySet<PodClass> {
    return this.#live.placements.currentClasses(changes.map(this.#inForce), this.#pods());
  }

  #pods(): Iterable<IndexedPod> {
    return this.#live.podIndex.local();
  }
}

/**
 * Changes of a namespace's policies that are prepared and applied as one, so that its classes are compiled once for all
 * of them.
 */
type NamespaceBatch = ReadonlyMap<PolicyId, Policy | undefined>;

/** The size of a batch, which one flush applies: entries, and one more for each change. */
const MOST = 1_000;

/**
 * The next batch of a namespace with these `waiting` changes, in their order. Changes of the batch `before` stay in it
 * unless a later version of the policy has come; that one waits for another batch, so that editing a policy again and
 * again delays no other change. Returns `before` itself if all of it stays.
 */
export function nextBatch(
  waiting: readonly PolicyChange[],
  before: NamespaceBatch | undefined,
): NamespaceBatch {
  if (before !== undefined) {
    const left = waiting.filter(change => isAmong(before, change));
    if (left.length === before.size) return before;
    if (left.length > 0) return batchOf(left);
  }
  return batchOf(firstOf(waiting));
}

/** Whether the batch has exactly this version of the policy. */
function isAmong(together: NamespaceBatch, { id, value }: PolicyChange): boolean {
  return together.has(id) && together.get(id) === value;
}

export function changesOfBatch(together: NamespaceBatch): PolicyChange[] {
  return [...together].map(([id, value]) => ({ id, value }));
}

function batchOf(changes: readonly PolicyChange[]): NamespaceBatch {
  return new Map(changes.map(({ id, value }) => [id, value]));
}

/** The first changes that fit into a batch, and at least one. */
function firstOf(changes: readonly PolicyChange[]): PolicyChange[] {
  let sum = 0;
  return changes.filter(({ value }, at) => {
    sum += 1 + (value === undefined ? 0 : countEntries(value));
    return at === 0 || sum <= MOST;
  });
}
