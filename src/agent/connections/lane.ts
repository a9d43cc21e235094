/**
 * Looks, one after the other: what is asked for during one is looked at together, in the next. Whoever asks for looks all
 * the time rests for as long as each of them takes; who was no part of the last one waits for no rest, and goes first.
 */
import { sleep } from '../../lib/async/sleep.ts';
import { type AffectedAddresses, allBut, merge } from './affected.ts';

/** Whoever asks for looks all the time leaves others half of it, or this. */
const LONGEST_REST_MS = 500;

export interface LaneOptions {
  readonly look: (affected: AffectedAddresses) => Promise<void>;
  /** Nothing is pending then. */
  readonly failed: (error: Error) => void;
  /** After it nothing is looked at. */
  readonly closed: AbortSignal;
}

export class Lane {
  readonly #options: LaneOptions;
  #pending: AffectedAddresses = 'nobody';
  /** In the look under way, or the last one. */
  #last: AffectedAddresses = 'nobody';
  #looking: Promise<void> | undefined;
  /** Ends the rest between two looks. */
  #goOn = new AbortController();

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Never waits. */
  add(affected: AffectedAddresses): void {
    this.hold(affected);
    if (affected === 'nobody' || this.#options.closed.aborted) return;
    if (this.#others() !== 'nobody') this.#goOn.abort();
    this.#looking ??= this.#lookUntilDone();
  }

  /** The same, with the next that is added. */
  hold(affected: AffectedAddresses): void {
    if (!this.#options.closed.aborted) this.#pending = merge(this.#pending, affected);
  }

  /** Ends when all that was added has been looked at; nothing where it has. */
  get looking(): Promise<void> | undefined {
    return this.#looking;
  }

  clear(): void {
    this.#pending = 'nobody';
  }

  async #lookUntilDone(): Promise<void> {
    try {
      while (this.#pending !== 'nobody') {
        const startMs = performance.now();
        await this.#options.look(this.#take());
        await this.#rest(performance.now() - startMs);
      }
    } catch (error) {
      this.#pending = 'nobody';
      this.#options.failed(error as Error);
    } finally {
      this.#looking = undefined;
    }
  }

  #take(): AffectedAddresses {
    const others = this.#others();
    const next = others === 'nobody' ? this.#pending : others;
    this.#pending = allBut(this.#pending, next);
    this.#last = next;
    return next;
  }

  /** Who is pending and was no part of the last look. */
  #others(): AffectedAddresses {
    return allBut(this.#pending, this.#last);
  }

  async #rest(ms: number): Promise<void> {
    if (this.#pending === 'nobody' || this.#others() !== 'nobody') return;
    this.#goOn = new AbortController();
    const signal = AbortSignal.any([this.#goOn.signal, this.#options.closed]);
    await sleep(Math.min(ms, LONGEST_REST_MS), signal);
  }
}
