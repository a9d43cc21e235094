import { sleep } from './sleep.ts';

/** The time and the dice of those who try again; tests bring their own. */
export interface Timing {
  now(): number;
  /** Ends early, without an error, when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1. */
  random(): number;
}

export const realTiming: Timing = { now: () => performance.now(), sleep, random: Math.random };
