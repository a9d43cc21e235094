/** Several recordings as one: of several nodes at a time, or of one node at several times. */
import type { Namespace, Node } from '../../model/cluster.ts';
import { Recorder } from './recorder.ts';
import {
  countOf,
  type RecordedFlow,
  type Recording,
  recordedFlowKey,
  type SilentPods,
  sum,
} from './recording.ts';

/** Throws RangeError where there is none. */
export function mergeRecordings(recordings: readonly Recording[]): Recording {
  if (recordings.length === 1) return recordings[0]!;
  const merged = new MergedRecording();
  for (const recording of [...recordings].sort((a, b) => a.toMs - b.toMs)) merged.add(recording);
  return merged.recording();
}

/** The most objects of each kind in a merged recording: a larger file could not be read. */
const MOST_OBJECTS = 100_000;

/**
 * Grows as recordings come, within the limits of one. Labels of namespaces and nodes are those of the latest that came.
 * `about` chooses what is taken of each.
 */
export class MergedRecording {
  readonly #recorder = new Recorder();
  readonly #namespaces = new Map<string, Namespace>();
  readonly #nodes = new Map<string, Node>();
  readonly #silent = new Map<string, SilentPods>();
  readonly #recordedOn = new Set<string>();
  readonly #missedOn = new Set<string>();
  #fromMs = Number.POSITIVE_INFINITY;
  #toMs = 0;
  #unknownPods: Recording['unknownPods'] = 'allow';
  #lost = 0;
  #isCut = false;
  readonly #about: (recording: Recording) => Recording;

  constructor(about: (recording: Recording) => Recording = whole => whole) {
    this.#about = about;
  }

  add(whole: Recording): void {
    const recording = this.#about(whole);
    this.#fromMs = Math.min(this.#fromMs, recording.fromMs);
    this.#toMs = Math.max(this.#toMs, recording.toMs);
    for (const flow of recording.flows) this.#recorder.record(flow);
    for (const [namespace, count] of recording.leftOut) this.#recorder.leaveOut(namespace, count);
    put(this.#namespaces, recording.namespaces);
    put(this.#nodes, recording.nodes);
    put(
      this.#silent,
      recording.silent.map(each => [JSON.stringify(each), each]),
    );
    for (const node of recording.recordedOn) this.#recordedOn.add(node);
    for (const node of recording.missedOn ?? []) this.#missedOn.add(node);
    if (recording.unknownPods === 'deny') this.#unknownPods = 'deny';
    this.#lost = sum(this.#lost, recording.lost);
    if (recording.isCut) this.#isCut = true;
  }

  /** Marks the node as having a gap. */
  miss(node: string): void {
    this.#missedOn.add(node);
  }

  /** Whether anything was added. */
  get isBegun(): boolean {
    return this.#recordedOn.size > 0;
  }

  /** Throws RangeError where nothing was added. */
  recording(): Recording {
    if (!this.isBegun) throw new RangeError('no recording to merge');
    return {
      fromMs: this.#fromMs,
      toMs: this.#toMs,
      recordedOn: [...this.#recordedOn].sort(),
      ...(this.#missedOn.size > 0 && { missedOn: [...this.#missedOn].sort() }),
      unknownPods: this.#unknownPods,
      lost: this.#lost,
      leftOut: this.#recorder.leftOut,
      namespaces: this.#namespaces,
      nodes: this.#nodes,
      flows: settled(this.#recorder.flows()),
      silent: [...this.#silent.values()],
      ...(this.#isCut && { isCut: true }),
    };
  }
}

function put<T>(map: Map<string, T>, objects: Iterable<readonly [string, T]>): void {
  for (const [name, object] of objects) if (map.has(name) || map.size < MOST_OBJECTS) map.set(name, object);
}

/**
 * A connection that the source's node allowed and the destination's node denied is one denied connection: it is counted
 * with the denied ones.
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
