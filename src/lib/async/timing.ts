import { sleep } from './sleep.ts';

/** Time and randomness for code that retries; tests pass their own. */
export interface Timing {
  now(): number;
  /** Resolves early, without an error, when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** A random number, 0 ≤ x < 1. */
  random(): number;
}

export const realTiming: Timing = { now: () => performance.now(), sleep, random: Math.random };
