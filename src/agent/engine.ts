/** From events to the desired state of the kernel. */
import type { Cluster, ClusterEvent } from '../model/cluster.ts';
import type { PolicyId } from '../model/policy.ts';
import type { Op } from '../nft/plan/op.ts';
import type { Ruleset } from '../nft/ruleset.ts';

export interface Engine {
  /** The state that the next flush will be made from. */
  readonly cluster: Cluster;
  /** Takes an event in; cheap, and makes no rules. */
  note(event: ClusterEvent): void;
  /** The desired state now. What did not change since the last flush is the same object as then. */
  flush(): Ruleset;
  /** The policies that the object of this step was made from; empty where it belongs to none in particular. */
  policiesBehind(op: Op): readonly PolicyId[];
}
