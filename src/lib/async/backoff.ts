/** The shortest and the longest wait between two tries. */
export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

/**
 * How long to wait before the next try, after this many failures in a row: each wait is twice as long as the one
 * before.
 */
export function backoffMs({ firstMs, mostMs }: Backoff, failures: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));
}

/** All agents of a cluster lose the same server at the same moment, so half of each wait is random (0 ≤ random < 1). */
export function jitteredMs(waitMs: number, random: number): number {
  return waitMs / 2 + (waitMs / 2) * random;
}
