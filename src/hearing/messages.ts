/** What the agent and its answer thread tell each other. */
import type { Recovered } from '../names/leases.ts';
import type { Subjects } from '../names/subjects.ts';
import type { ToldFact } from '../names/toldfacts.ts';

/** What the thread is given at its start. */
export interface HearingOrders {
  /** An eventfd: whoever has posted a message counts it up. */
  readonly wake: number;
  readonly queue: number;
  /** Elements that stood in the kernel before. */
  readonly recovered: readonly Recovered[];
}

export type ToThread =
  /** The rules for these are in force; `renewed`: sets of names were made anew, and are empty. */
  | { readonly kind: 'subjects'; readonly subjects: Subjects; readonly renewed: boolean }
  /** Answer with all facts that are due, and this number. */
  | { readonly kind: 'sync'; readonly id: number }
  | { readonly kind: 'stop' };

export interface HearingCounts {
  readonly seen: number;
  readonly learnt: number;
  readonly passed: number;
  readonly unread: number;
  /** Control packets that no rule took. */
  readonly untaken: number;
  readonly evicted: number;
  readonly overruns: number;
  /** Addresses that stand. */
  readonly addresses: number;
  /** Whether answers wait: the switch was taken at the last beat. */
  readonly beating: boolean;
}

export type FromThread =
  | { readonly kind: 'facts'; readonly facts: readonly ToldFact[]; readonly synced?: number }
  | { readonly kind: 'counts'; readonly counts: HearingCounts };
