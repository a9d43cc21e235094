/** From events to the desired state of the kernel. */
import type { Cluster, ClusterEvent } from '../model/cluster.ts';
import type { PolicyId } from '../model/policy.ts';
import type { Op } from '../nft/plan/op.ts';
import type { Ruleset } from '../nft/ruleset.ts';

export interface Engine {
  /** The state that the flush under way is made from, or the next one. */
  readonly cluster: Cluster;
  /** Takes an event in; cheap, and makes no rules. */
  note(event: ClusterEvent): void;
  /**
   * Makes the desired state of what was noted until now, in pieces: what is noted between two of them is for the next
   * flush. What did not change since the last one is the same object as then.
   */
  flushing(): Generator<void, Ruleset>;
  /** The policies that the object of this step was made from; empty where it belongs to none in particular. */
  policiesBehind(op: Op): readonly PolicyId[];
}
