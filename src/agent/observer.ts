/**
 * The observers of the agent: status, metrics, the log, open connections. Every call is synchronous, and must not
 * throw.
 */
import type { ClusterEvent } from '../model/cluster.ts';
import type { LastingStatus, WaitingPolicy } from '../model/policystatus.ts';
import type { Op } from '../nft/plan/op.ts';
import type { Committed } from './committed.ts';

/**
 *     noted, noted … ─▶ committing ─▶ committed   the kernel holds what was noted before `committing`
 *                           └───────▶ failed      it does not; there will be another attempt
 */
export interface Observer {
  noted(events: readonly ClusterEvent[]): void;
  /** `waiting`: policies whose changes are not in the batch, in order. */
  committing(waiting: readonly WaitingPolicy[]): void;
  committed(committed: Committed): void;
  failed(error: unknown): void;
  /** Another process changed our tables; `repair` puts them right. */
  drifted(repair: readonly Op[]): void;
  /**
   * Called with the statuses of all policies that are not in force as written, except those that wait; whenever one
   * changes.
   */
  policyStatuses(statuses: readonly LastingStatus[]): void;
}
