/** Virtual time: it advances only to the next timer that code waits for, so hours of an agent pass in a moment. */
import type { Timing } from '../../../src/lib/async/timing.ts';

/** A loop of timers that never ends is given up after this many. */
const MOST_WOKEN = 10_000;

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

export class VirtualTime implements Timing {
  #nowMs = 0;
  readonly #sleepers = new Set<Sleeper>();

  readonly now = () => this.#nowMs;

  readonly random = () => 0.5;

  /** Advances the time by the duration of some work, without waking any timer. Returns the new time. */
  spend(ms: number): number {
    this.#nowMs += ms;
    return this.#nowMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0 || signal.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const sleeper = {
        // A timer has whole milliseconds, and one at least.
        atMs: this.#nowMs + Math.max(1, Math.trunc(ms)),
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal.removeEventListener('abort', sleeper.wake);
          resolve();
        },
      };
      signal.addEventListener('abort', sleeper.wake);
      this.#sleepers.add(sleeper);
    });
  }

  /** Advances the time, with all timers that are due meanwhile; stops early when `isOver` returns true. */
  async pass(ms: number, isOver = () => false): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (let woken = 0; ; woken++) {
      if (woken > MOST_WOKEN) throw new Error(`no rest in ${MOST_WOKEN} turns`);
      await turn();
      for (let turns = 0; this.#sleepers.size === 0 && !isOver(); turns++) {
        if (turns > MOST_WOKEN) throw new Error(`no timer is set any more after ${MOST_WOKEN} turns`);
        await turn();
      }
      const next = [...this.#sleepers].sort((a, b) => a.atMs - b.atMs)[0];
      if (isOver() || next === undefined || next.atMs > endMs) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
    }
    this.#nowMs = endMs;
  }
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
