/**
 * The cost of our rules for a packet, in CPU time: on a new connection, by the number of policies on its pod and by the
 * number of runs of the Admin tier, and on an established one; and the cost of checking the source of a packet, by
 * rules of IP and by the port of a bridge.
 *
 * Every design has a router of its own (packets/router.ts), all exist at once, and packets/rounds.ts takes turns. The
 * figures are CPU time of the injecting thread, medians of many rounds: other processes do not affect them.
 */
import { bridgedPackets } from './packets/bridged.ts';
import { establishedPackets } from './packets/established.ts';
import { newConnections } from './packets/newconnection.ts';
import { sourceChecks } from './packets/sourcechecks.ts';
import { onTestbed, type Testbed } from './packets/testbed.ts';
import type { BenchRow } from './row.ts';

export interface PacketOptions {
  /** Print on standard error what every design took, and how much it varied. */
  readonly verbose?: boolean;
  /** Decides for each part whether it is measured. */
  readonly isWanted?: (part: string) => boolean;
}

/** The parts that can be measured alone. */
const PARTS = {
  new: newConnections,
  source: sourceChecks,
  bridge: bridgedPackets,
  established: establishedPackets,
} as const satisfies Record<string, (testbed: Testbed) => Promise<BenchRow[]>>;

/** No rows, and a sentence on standard error, where the machine does not let us inject packets. */
export async function benchPackets({
  verbose = process.argv.includes('--verbose'),
  isWanted = () => true,
}: PacketOptions = {}): Promise<BenchRow[]> {
  return onTestbed(verbose, async testbed => {
    const rows: BenchRow[] = [];
    for (const [part, measure] of Object.entries(PARTS))
      if (isWanted(part)) rows.push(...(await measure(testbed)));
    return rows;
  });
}
