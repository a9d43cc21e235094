/** Several recordings as one: of several nodes at a time, or of one node at several times. */
import { Recorder } from './recorder.ts';
import type { Recording } from './recording.ts';

/** Labels of namespaces and nodes are those of the latest. Throws RangeError where there is none. */
export function mergeRecordings(recordings: readonly Recording[]): Recording {
  const ordered = [...recordings].sort((a, b) => a.toMs - b.toMs);
  const latest = ordered.at(-1);
  if (latest === undefined) throw new RangeError('no recording to merge');
  if (ordered.length === 1) return latest;
  const recorder = new Recorder();
  for (const { flows } of ordered) for (const flow of flows) recorder.note(flow);
  const leftOut = new Map(recorder.leftOut);
  for (const recording of ordered)
    for (const [namespace, count] of recording.leftOut)
      leftOut.set(namespace, (leftOut.get(namespace) ?? 0) + count);
  return {
    fromMs: Math.min(...ordered.map(({ fromMs }) => fromMs)),
    toMs: latest.toMs,
    recordedOn: [...new Set(ordered.flatMap(({ recordedOn }) => recordedOn))].sort(),
    unknownPods: ordered.some(({ unknownPods }) => unknownPods === 'deny') ? 'deny' : 'allow',
    lost: ordered.reduce((sum, { lost }) => sum + lost, 0),
    leftOut,
    namespaces: new Map(ordered.flatMap(({ namespaces }) => [...namespaces])),
    nodes: new Map(ordered.flatMap(({ nodes }) => [...nodes])),
    flows: recorder.flows(),
    silent: ordered.flatMap(({ silent }) => silent),
    ...(ordered.some(({ isCut }) => isCut) && { isCut: true }),
  };
}
