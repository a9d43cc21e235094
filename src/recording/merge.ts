/** Several recordings as one: of several nodes at a time, or of one node at several times. */
import { Recorder } from './recorder.ts';
import { countOf, type RecordedFlow, type Recording, recordedFlowKey } from './recording.ts';

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
    flows: settled(recorder.flows()),
    silent: ordered.flatMap(({ silent }) => silent),
    ...(ordered.some(({ isCut }) => isCut) && { isCut: true }),
  };
}

/**
 * What the node of who opens it let go, and the node of who answers denied, is one connection, and was denied: it is counted
 * where the denial is.
 *
 *     allow  egress 15  ingress 10         allow  egress 10  ingress 10
 *     deny   egress  0  ingress  5    ->   deny   egress  5  ingress  5
 */
function settled(flows: readonly RecordedFlow[]): RecordedFlow[] {
  const denials = new Map(
    flows.filter(({ was }) => was === 'deny').map(flow => [recordedFlowKey(flow), flow]),
  );
  const moved = new Map<RecordedFlow, number>();
  for (const flow of flows) {
    const denial = flow.was === 'allow' ? denials.get(recordedFlowKey({ ...flow, was: 'deny' })) : undefined;
    if (denial === undefined) continue;
    const count = Math.max(0, Math.min(denial.ingress, flow.egress - flow.ingress));
    moved.set(flow, -count).set(denial, count);
  }
  return flows
    .map(flow => ({ ...flow, egress: flow.egress + (moved.get(flow) ?? 0) }))
    .filter(flow => countOf(flow) > 0);
}
