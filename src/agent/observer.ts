/** Who watches the agent at work: status, metrics, the log, open connections. Every call is synchronous, and must not throw. */
import type { ClusterEvent } from '../model/cluster.ts';
import type { Op } from '../nft/plan/op.ts';
import type { WaitingPolicy } from './admission/change.ts';
import type { Quarantined } from './admission/quarantine.ts';
import type { Committed } from './committed.ts';

/**
 *     noted, noted … ─▶ committing ─▶ committed   the kernel holds what was noted before `committing`
 *                           └───────▶ failed      it does not; there will be another attempt
 */
export interface Observer {
  noted(events: readonly ClusterEvent[]): void;
  /** `deferred`: changes that are not in the batch, the first ones first. */
  committing(deferred: readonly WaitingPolicy[]): void;
  committed(committed: Committed): void;
  failed(error: unknown): void;
  /** Somebody else changed our tables; `repair` puts them right. */
  drifted(repair: readonly Op[]): void;
  /** All policies whose rules the kernel refuses, whenever there are others than before. */
  quarantined(policies: readonly Quarantined[]): void;
}

/** One observer that tells all of them, in their order. */
export function every(observers: readonly Partial<Observer>[]): Observer {
  return {
    noted: events => {
      for (const observer of observers) observer.noted?.(events);
    },
    committing: deferred => {
      for (const observer of observers) observer.committing?.(deferred);
    },
    committed: committed => {
      for (const observer of observers) observer.committed?.(committed);
    },
    failed: error => {
      for (const observer of observers) observer.failed?.(error);
    },
    drifted: repair => {
      for (const observer of observers) observer.drifted?.(repair);
    },
    quarantined: policies => {
      for (const observer of observers) observer.quarantined?.(policies);
    },
  };
}
