/**
 * What our rules add to a packet, in CPU time: on a new connection, by the number of policies on its pod and by
 * the number of runs of the Admin tier, and on an established one.
 *
 * Every design has a router of its own (packets/router.ts), all alive at once, and packets/rounds.ts takes turns.
 * The figures are CPU time of the injecting thread, medians of many rounds: they do not know who else is busy.
 */
import { establishedPackets } from './packets/established.ts';
import { newConnections } from './packets/newconnection.ts';
import { NotMeasurable } from './packets/notmeasurable.ts';
import { Testbed } from './packets/testbed.ts';
import type { BenchRow } from './row.ts';

export interface PacketOptions {
  /** Says on standard error what every design took, and how much it varied. */
  readonly verbose?: boolean;
}

/** No rows, and a sentence on standard error, where the machine does not let us inject packets. */
export async function benchPackets({
  verbose = process.argv.includes('--verbose'),
}: PacketOptions = {}): Promise<BenchRow[]> {
  const testbed = new Testbed(verbose ? line => console.error(line) : () => undefined);
  try {
    return [...(await newConnections(testbed)), ...(await establishedPackets(testbed))];
  } catch (error) {
    if (!(error instanceof NotMeasurable)) throw error;
    console.error(`The cost of packets cannot be measured here: ${error.message}`);
    return [];
  } finally {
    testbed.close();
  }
}
