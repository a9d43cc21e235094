/** The messages between the main thread and the answer thread. */

import type { DnsRecord } from '../../names/dnscache.ts';
import type { Pair, Recovered } from '../../names/leases.ts';
import type { Lifetimes } from '../../names/leasetable.ts';
import type { Subjects } from '../../names/subjects.ts';

/** Options with which the thread starts. */
export interface AnswerThreadOptions {
  /** An eventfd that is counted up after each message to the thread. */
  readonly wake: number;
  readonly queue: number;
  /** The ports from which resolvers answer. */
  readonly ports: readonly number[];
  readonly lifetimes: Partial<Lifetimes>;
  /** Elements that were in the kernel before. */
  readonly recovered: readonly Recovered[];
  /** When the records were read, by `monotonicMs`. */
  readonly recoveredAtMs: number;
}

/** The clock that all threads share, in whole milliseconds. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);

export type ToThread =
  /** The rules for these subjects are in force; `renewed`: sets of names were recreated, and are empty. */
  | { readonly kind: 'subjects'; readonly subjects: Subjects; readonly renewed: boolean }
  /** Asks for all records that are due, and for this number. */
  | { readonly kind: 'sync'; readonly id: number }
  /** Pairs with open connections. */
  | { readonly kind: 'inUse'; readonly pairs: readonly Pair[] }
  | { readonly kind: 'stop' };

export interface DnsCounts {
  readonly seen: number;
  readonly learnt: number;
  readonly passed: number;
  readonly unread: number;
  /** Packets that went on unread because their pod or its namespace had more than its share of work, or of room. */
  readonly overBudget: number;
  /** Control packets that no rule took. */
  readonly untaken: number;
  readonly evicted: number;
  /** How often answers went on because they were not read in time. */
  readonly overruns: number;
  /** How many answers waited how long after the thread had fetched them: for each of `WAIT_BUCKETS_US`, and longer. */
  readonly waits: readonly number[];
  readonly waitedUs: number;
  /** Grows about once a second while the thread has pods to read answers for. */
  readonly turns: number;
  /** Addresses that are in the sets now. */
  readonly addresses: number;
  /** Whether the kernel queues answers: it took the last heartbeat. */
  readonly isQueueing: boolean;
}

export const WAIT_BUCKETS_US = [25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000] as const;

export type FromThread =
  /** The time of these is over soon: which of them are in use? */
  | { readonly kind: 'ending'; readonly pairs: readonly Pair[] }
  | { readonly kind: 'records'; readonly records: readonly DnsRecord[]; readonly synced?: number }
  | { readonly kind: 'counts'; readonly counts: DnsCounts };
