/** How long a told address is allowed, and how many are kept. Times in milliseconds. */

export interface Lifetimes {
  /** Beyond the TTL: clients use an answer a little longer than it says. */
  readonly graceMs: number;
  /** At least so long: what runtimes keep regardless of the TTL, and resolvers hand out what is left of one. */
  readonly floorMs: number;
  readonly capMs: number;
  /** What the kernel gives an element by itself, so that it stands while no agent is there. */
  readonly leaseMs: number;
}

export const LIFETIMES: Lifetimes = {
  graceMs: 10_000,
  floorMs: 120_000,
  capMs: 24 * 3_600_000,
  leaseMs: 600_000,
};

/** How often a node looks at what is about to end: an address lasts four times as long, at least. */
export function periodMs({ floorMs }: Lifetimes): number {
  return floorMs / 4;
}

export interface NamesLimits {
  /** Addresses of one name for one pod. */
  readonly perName: number;
  /** Of all names of one pod. */
  readonly perPod: number;
  readonly perNode: number;
}

export const NAMES_LIMITS: NamesLimits = { perName: 1_000, perPod: 4_096, perNode: 32_768 };

/** When an address ends that is told now (C41). */
export function leaseEnd(ttlSeconds: number, nowMs: number, { graceMs, floorMs, capMs }: Lifetimes): number {
  return nowMs + Math.min(Math.max(ttlSeconds * 1_000 + graceMs, floorMs), capMs);
}

/** When there is something to do for a lease: it ends, or is renewed in the kernel, where half of it is over. */
export function leaseDue(
  { untilMs, kernelUntilMs }: { readonly untilMs: number; readonly kernelUntilMs: number },
  { leaseMs }: Lifetimes,
): number {
  return untilMs > kernelUntilMs ? Math.min(untilMs, kernelUntilMs - leaseMs / 2) : untilMs;
}
