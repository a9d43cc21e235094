/** What the counters of a chain of ours have counted, rule by rule: of both families together. */
import { FAMILIES } from '../../../model/address.ts';
import { untilWhole } from '../wire/conversation.ts';
import { asking } from './othertables.ts';
import { readRuleCounts } from './rulecounts.ts';

/** Packets by rules that count, in their order; empty where there is no such chain. Throws SocketError, KernelError. */
export async function readCounters(chain: string): Promise<readonly number[]> {
  const places = FAMILIES.map(family => ({ family, chain }));
  const counts = await asking(exchange => untilWhole(() => readRuleCounts(exchange, places)));
  const sums: number[] = [];
  for (const family of FAMILIES)
    for (const [i, { packets }] of counts.filter(count => count.family === family).entries())
      sums[i] = (sums[i] ?? 0) + packets;
  return sums;
}
