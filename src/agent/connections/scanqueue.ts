/**
 * Scans of open connections, one after the other; addresses that are added during a scan are scanned together in the
 * next. Addresses that are in every scan pause after each one for as long as it took; addresses that were not in the
 * last scan do not pause, and go first.
 */
import { sleep } from '../../lib/async/sleep.ts';
import type { Address } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import { type AffectedAddresses, allBut, merge } from './tightening.ts';

/**
 * Longest pause between scans. Continuous scans pause half of the time, so that other work is done, but at most this
 * long.
 */
const LONGEST_REST_MS = 500;

export interface ScanQueueOptions {
  readonly scan: (affected: AffectedAddresses) => Promise<void>;
  /** Called when a scan failed; nothing is pending then. */
  readonly failed: (error: Error) => void;
  /** Ends all scanning when it aborts. */
  readonly closed: AbortSignal;
}

export class ScanQueue {
  readonly #options: ScanQueueOptions;
  #pending: AffectedAddresses = 'none';
  /** The addresses of the scan under way, or of the last one if others waited for its end. */
  #last: AffectedAddresses = 'none';
  #scanning: Promise<void> | undefined;
  /** Ends the rest between two scans; undefined while there is none, because an abort makes an error, which costs much. */
  #goOn: AbortController | undefined;

  constructor(options: ScanQueueOptions) {
    this.#options = options;
  }

  /** Adds addresses to the next scan. Returns at once. */
  add(affected: AffectedAddresses): void {
    this.hold(affected);
    if (affected === 'none' || this.#options.closed.aborted) return;
    if (this.#goOn !== undefined && this.#others() !== 'none') this.#goOn.abort();
    this.#scanning ??= this.#scanUntilDone();
  }

  /** Keeps addresses for the next scan, without starting one. */
  hold(affected: AffectedAddresses): void {
    if (!this.#options.closed.aborted) this.#pending = merge(this.#pending, affected);
  }

  /** Settles when all that was added has been scanned; undefined where it has. */
  get scanning(): Promise<void> | undefined {
    return this.#scanning;
  }

  clear(): void {
    this.#pending = 'none';
  }

  async #scanUntilDone(): Promise<void> {
    try {
      while (this.#pending !== 'none') {
        const startMs = performance.now();
        await this.#options.scan(this.#take());
        await this.#rest(performance.now() - startMs);
      }
    } catch (error) {
      this.#pending = 'none';
      this.#options.failed(error as Error);
    } finally {
      this.#scanning = undefined;
      this.#last = 'none'; // No scan waits, so the next one need not be split.
    }
  }

  #take(): AffectedAddresses {
    const others = this.#others();
    const next = others === 'none' ? this.#pending : others;
    this.#pending = allBut(this.#pending, next);
    this.#last = next;
    return next;
  }

  /** The addresses that are pending and were not in the last scan. */
  #others(): AffectedAddresses {
    return allBut(this.#pending, this.#last);
  }

  async #rest(ms: number): Promise<void> {
    if (this.#pending === 'none' || this.#others() !== 'none') return;
    this.#goOn = new AbortController();
    const signal = AbortSignal.any([this.#goOn.signal, this.#options.closed]);
    await sleep(Math.min(ms, LONGEST_REST_MS), signal);
    this.#goOn = undefined;
  }
}

/**
 * Counts the connections of a scan by address, so that no address makes the scan a long one: after `most` connections, an
 * address that has more than an equal share of them is left for another scan.
 */
export class ScanQuota {
  readonly #most: number;
  readonly #counts: Map<Address, number>;
  readonly #crowded = new Set<Address>();
  #seen = 0;

  /** The scan sees `most` connections, or twice as many where addresses share them. */
  constructor(about: Iterable<Address>, most: number) {
    this.#most = most;
    this.#counts = new Map([...about].map(address => [address, 0]));
  }

  /** Addresses that are left out because they have too many connections. */
  get left(): ReadonlySet<Address> {
    return this.#crowded;
  }

  /** Whether one more connection is judged. */
  admits({ from, to }: Flow): boolean {
    const isFull = ++this.#seen > this.#most;
    this.#count(from, isFull);
    if (to !== from) this.#count(to, isFull);
    return !(isFull && (this.#crowded.has(from) || this.#crowded.has(to)));
  }

  /** How many of its connections were judged, or left. */
  countOf(address: Address): number {
    return this.#counts.get(address) ?? 0;
  }

  #count(address: Address, isFull: boolean): void {
    const before = this.#counts.get(address);
    if (before === undefined) return;
    this.#counts.set(address, before + 1);
    if (isFull && before >= this.#most / this.#counts.size) this.#crowded.add(address);
  }
}

interface Waiting {
  readonly affected: AffectedAddresses;
  /** They are not scanned before this time. */
  readonly fromMs: number;
}

/**
 * Addresses that are to be scanned once more, some time after the commit that affected them. A scan walks the kernel's
 * whole table, whatever it is asked for. So addresses wait a little for a scan that takes place anyway: the first one
 * after a later commit, or the second one of addresses that have waited longer.
 */
export class SecondScans {
  readonly #afterMs: number;
  readonly #patienceMs: number;
  /** The time from which the oldest may be scanned; infinite if none waits. */
  fromMs = Number.POSITIVE_INFINITY;
  /** The oldest first. */
  #waiting: Waiting[] = [];

  /** Addresses are scanned `afterMs` after their commit, or up to `patienceMs` later. */
  constructor(afterMs: number, patienceMs: number) {
    this.#afterMs = afterMs;
    this.#patienceMs = patienceMs;
  }

  add(affected: AffectedAddresses, nowMs: number): void {
    const fromMs = nowMs + this.#afterMs;
    this.#waiting.push({ affected, fromMs });
    this.fromMs = Math.min(this.fromMs, fromMs);
  }

  /** The time at which the oldest is scanned at the latest. */
  get untilMs(): number {
    return this.fromMs + this.#patienceMs;
  }

  /** Takes `others` and the addresses that may be scanned now, except those with which all of them would not fit. */
  take(
    nowMs: number,
    others: AffectedAddresses = 'none',
    fits: (all: AffectedAddresses) => boolean = () => true,
  ): AffectedAddresses {
    let all = others;
    const joins = ({ affected, fromMs }: Waiting): boolean => {
      const both = merge(all, affected);
      if (fromMs > nowMs || !fits(both)) return false;
      all = both;
      return true;
    };
    this.#waiting = this.#waiting.filter(each => !joins(each));
    this.fromMs = this.#waiting[0]?.fromMs ?? Number.POSITIVE_INFINITY;
    return all;
  }
}
