/** The time and the dice of those who try again; tests bring their own. */
export interface Timing {
  now(): number;
  /** Ends early, without an error, when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1. */
  random(): number;
}

const FIRST_MS = 100;
const MOST_MS = 10_000;

/**
 * How long to wait before the next try, after so many failures in a row. All agents of a cluster lose the same
 * server at the same moment, so half of each wait is by lot.
 */
export function backoffMs(failures: number, random: number): number {
  const whole = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures, 20));
  return whole / 2 + (whole / 2) * random;
}
