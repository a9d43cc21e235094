/** Flows tried with real packets. */
import { forgetConnections } from '../../../bench/lab/conntrack.ts';
import type { Lab } from '../../../bench/lab/lab.ts';
import { probe } from '../../../bench/lab/probe/probe.ts';
import type { Flow } from '../../../src/model/flow.ts';

/** Whether each is open, as the first of a connection; one that should be gets a second, longer chance on a busy machine. */
export async function tried(
  lab: Lab,
  flows: readonly Flow[],
  expected: readonly boolean[],
): Promise<boolean[]> {
  forgetAll(lab);
  const open = (await probe(lab, flows)).map(outcome => outcome === 'open');
  const late = flows.map((_, i) => i).filter(i => expected[i] && !open[i]);
  if (late.length === 0) return open;
  forgetAll(lab);
  const again = await probe(
    lab,
    late.map(i => flows[i]!),
    { quietMs: 1000 },
  );
  for (const [at, i] of late.entries()) open[i] = again[at] === 'open';
  return open;
}

export function forgetAll(lab: Lab): void {
  for (const { name } of lab.topology.nodes) forgetConnections(lab.nodeNamespace(name));
}
