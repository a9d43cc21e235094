/** The engine turns events into the desired state of the kernel. */
import type { TimeBudget } from '../compiler/live/workbudget.ts';
import type { Pieces } from '../lib/collections/pieces.ts';
import type { Cluster, ClusterEvent, Namespace, Pod, PodKey } from '../model/cluster.ts';
import type { Policy, PolicyId } from '../model/policy.ts';
import type { PolicyChange } from '../model/policychange.ts';
import type { Op } from '../nft/plan/op.ts';
import type { Ruleset } from '../nft/ruleset.ts';

/** A pod and its namespace as rules have them. */
export interface PodInForce {
  readonly pod: Pod;
  readonly namespace: Namespace;
}

/** Makes an empty engine. Unless `stagesPrepared`, its tables have no chain or set before a packet can reach it. */
export type MakeEngine = (stagesPrepared: boolean) => Engine;

export interface Engine {
  /** With every event that was noted: a flush under way may be made from an older one. */
  readonly cluster: Cluster;
  /** Takes an event in; cheap, and makes no rules. */
  apply(event: ClusterEvent): void;
  /**
   * Makes the desired state from all events so far, in pieces: events that arrive between two pieces belong to the next
   * flush. Parts that did not change since the last flush are the same objects. Work that can wait is left to later
   * flushes as soon as a change waits for the next one.
   */
  flushInPieces(timeBudget?: TimeBudget): Pieces<Ruleset>;
  /**
   * Pods whose changes, or whose namespaces', the last flush has left for the next one, so that it did not take too long:
   * each as its rules have it, or nothing where they know none.
   */
  waitingPods(): ReadonlyMap<PodKey, PodInForce | undefined>;
  /**
   * Announces changes that may be applied soon: flushes prepare what they need, in addition to their own work, as far
   * as there is room for it. Preparations for other changes are discarded.
   */
  prepare(changes: readonly PolicyChange[]): void;
  /** About how many pods of the cluster it would have to ask for the peers of the policy and of those that it is merged with. */
  countLookedAt(change: PolicyChange): number;
  /**
   * Whether changes of the namespace's policies are prepared and applied together, because each of them would recompute
   * much.
   */
  isOversized(namespace: string): boolean;
  /**
   * Whether everything is prepared that takes long to make: if so, applying the change now makes the next flush hardly
   * longer.
   */
  isPrepared(change: PolicyChange): boolean;
  /**
   * Policies for which flushes have found no room since it was asked last, each as it was noted: in `cluster` they have no
   * rules since.
   */
  takeRefused(): readonly Policy[];
  /**
   * Whether the object of this operation is staged only, and nothing in force needs it; without an operation, whether
   * any object is.
   */
  isStaged(op?: Op): boolean;
  /** The policies from which the object of this operation was made; empty if it belongs to no policy in particular. */
  policiesBehind(op: Op): readonly PolicyId[];
}

/** Makes of an engine's rules those that are programmed. */
export type RulePass = (ruleset: Ruleset) => Ruleset;

/** The same passes: what has not changed since the last time stays the same object. */
export function remembering(passes: readonly RulePass[]): readonly RulePass[] {
  return passes.map(onceEach);
}

function onceEach(pass: RulePass): RulePass {
  let last: { readonly from: Ruleset; readonly made: Ruleset } | undefined;
  return from => {
    if (last?.from !== from) last = { from, made: pass(from) };
    return last.made;
  };
}

/** Called with everything that the engine gets and makes: each event before it is applied, and every desired state. */
export interface EngineFollower {
  /** A new engine, with its cluster. */
  follow(model: Cluster): void;
  apply(event: ClusterEvent): void;
  flushed(): void;
}
