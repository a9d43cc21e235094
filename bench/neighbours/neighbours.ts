/**
 * Nothing that one tenant does may stop, slow or open another: how long a neighbour's default deny takes to the kernel,
 * and to the end of a connection that it denies, while a tenant does its worst, in turns with peace. Every attack has a
 * fresh agent, as it is built and run, in a network namespace of its own.
 */
import { builtFolder } from '../build.ts';
import { absolute, againstFloor, type BenchRow, percentile } from '../row.ts';
import { ATTACKS, PACKETS } from './attacks.ts';
import { type Duel, duel } from './duel.ts';
import { hostilePackets } from './hostilepackets.ts';
import type { Sample } from './site.ts';

const BUDGET = { toKernelMs: 100, timesPeace: 10, toCutMs: 1000, turnMs: 50, peakMb: 300 };

/** `isWanted` says of each part whether it is measured. */
export async function benchNeighbours(isWanted: (name: string) => boolean): Promise<BenchRow[]> {
  const dist = builtFolder();
  const rows: BenchRow[] = [];
  for (const attack of ATTACKS) {
    if (!isWanted(attack.name)) continue;
    rows.push(...rowsOf(`${attack.name} (${attack.what})`, attack.name, await duel(dist, attack)));
  }
  if (isWanted(PACKETS)) rows.push(...(await hostilePackets()));
  return rows;
}

function rowsOf(title: string, name: string, { peace, attacked, longestTurnMs, peakMb }: Duel): BenchRow[] {
  const p99 = (samples: readonly Sample[], pick: (sample: Sample) => number) =>
    percentile(samples.map(pick), 99);
  const toKernel = (samples: readonly Sample[]) => p99(samples, ({ toKernelMs }) => toKernelMs);
  const [calm, slowed] = [toKernel(peace), toKernel(attacked)];
  return [
    absolute(`beside ${title}: default deny to kernel, p99`, 'ms', slowed, BUDGET.toKernelMs),
    againstFloor(`${name}: the same : in peace`, 'ms', slowed, calm, BUDGET.timesPeace),
    absolute(
      `${name}: denied connection cut, p99`,
      'ms',
      p99(attacked, ({ toCutMs }) => toCutMs),
      BUDGET.toCutMs,
    ),
    absolute(`${name}: longest turn of the event loop, CPU time`, 'ms', longestTurnMs, BUDGET.turnMs),
    absolute(`${name}: memory of the agent at its peak`, 'MB', peakMb, BUDGET.peakMb),
  ];
}
