/** Who watches the agent at work: for status and metrics. Every call is synchronous, and must not throw. */
import type { Cluster, ClusterEvent } from '../model/cluster.ts';
import type { Op } from '../nft/plan/op.ts';

export interface Followed {
  readonly cluster: Cluster;
  readonly ops: readonly Op[];
  /** What has changed since the last time. */
  readonly names: readonly string[];
  readonly tookMs: number;
  /** The kernel was read back whole, not believed. */
  readonly read: boolean;
}

/**
 *     noted, noted … ─▶ following ─▶ followed     the kernel holds what was noted before `following`
 *                           └──────▶ failed       it does not; there will be another attempt
 */
export interface Observer {
  noted(events: readonly ClusterEvent[]): void;
  following(): void;
  followed(followed: Followed): void;
  failed(error: unknown): void;
  drifted(repair: readonly Op[]): void;
}

/** Both watch. */
export function both(a: Observer, b: Observer): Observer {
  return {
    noted: events => {
      a.noted(events);
      b.noted(events);
    },
    following: () => {
      a.following();
      b.following();
    },
    followed: followed => {
      a.followed(followed);
      b.followed(followed);
    },
    failed: error => {
      a.failed(error);
      b.failed(error);
    },
    drifted: repair => {
      a.drifted(repair);
      b.drifted(repair);
    },
  };
}

export const NOBODY: Observer = {
  noted: () => {},
  following: () => {},
  followed: () => {},
  failed: () => {},
  drifted: () => {},
};
