import type { Lease } from './leasetable.ts';
import type { PodLeases } from './podleases.ts';
import type { ToldFact } from './toldfacts.ts';

/** A lease as the agent is told of it; its times are of a clock whose zero is so many milliseconds after 1970. */
export function leaseFact(
  { name, address, toldMs, untilMs, from, sets, recovered }: Lease,
  { pod }: PodLeases,
  zeroMs: number,
): ToldFact {
  const times = { toldMs: zeroMs + toldMs, untilMs: zeroMs + untilMs };
  const fact = { pod: pod.key, address, name, ...times, ...(from && { from }) };
  // The set's own list, so that however many addresses have it, memory and messages have it once.
  return recovered ? { ...fact, oneOf: sets[0]!.patterns } : fact;
}
