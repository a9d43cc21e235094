/** The record of one round that left the kernel equal to the desired state, as observers of the agent get it. */
import type { Cluster, PodKey } from '../model/cluster.ts';
import type { PolicyId } from '../model/policy.ts';
import type { Op } from '../nft/plan/op.ts';
import type { Ruleset } from '../nft/ruleset.ts';

/** Why the kernel is compared with the desired state. */
export type RoundCause = 'start' | 'change' | 'look';

export interface Committed {
  readonly cause: RoundCause;
  /** The cluster from which the rules were made, without changes of pods that wait. */
  readonly cluster: Cluster;
  /** Pods of other nodes whose changes are for a later round: the rules have them as they were. */
  readonly waitingPods: Pick<ReadonlySet<PodKey>, 'size' | 'has' | 'keys'>;
  /** New policies that isolate what they select, and whose allowances are for a later round. */
  readonly isolating: ReadonlySet<PolicyId>;
  /** The programmed rules. */
  readonly ruleset: Ruleset;
  /** The operations that were needed; empty if the kernel had the desired state already. */
  readonly ops: readonly Op[];
  /** Names of the objects that have changed in this round. */
  readonly names: readonly string[];
  /**
   * Whether another process may have changed the previous rules, so that it is not known which connections they
   * allowed.
   */
  readonly unknownBefore: boolean;
  /** The tables were dumped, or not written to since the last dump: they are not taken from the cache. */
  readonly dumped: boolean;
  readonly tookMs: number;
}
