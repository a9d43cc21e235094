/** A watch of a fake API server, its events so far, and functions that wait for more. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { IsolatedPods } from '../../../src/compiler/isolatedpods.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { type SourceStatus, watchCluster } from '../../../src/inputs/kube/watch/source.ts';
import { type ClusterEvent, ClusterState } from '../../../src/model/cluster.ts';
import type { Problem } from '../../../src/model/problem.ts';
import type { FakeApiServer } from './server.ts';

export class FollowedCluster {
  readonly state = new ClusterState();
  readonly events: ClusterEvent[] = [];
  readonly statuses: SourceStatus[] = [];
  problems: readonly Problem[] = [];
  isReady = false;
  readonly ready: Promise<void>;
  readonly close: () => Promise<void>;

  /** Called when the state has changed. */
  onChange = () => {};

  /** How often something waited before it was tried again. */
  pauses = 0;

  #laterMs = 0;

  /** Advances the clock that measures how long a watch has lasted. */
  later(ms: number): void {
    this.#laterMs += ms;
  }

  /** Why Events could not be written. */
  readonly troubles: string[] = [];

  constructor(server: FakeApiServer, silenceMs = 60_000, node?: string, isolated?: IsolatedPods) {
    const listener = {
      onEvents: (events: readonly ClusterEvent[]) => {
        for (const event of events) this.state.apply(event);
        this.events.push(...events);
        this.onChange();
      },
      onProblems: (problems: readonly Problem[]) => {
        this.problems = problems;
      },
      onSource: (status: SourceStatus) => void this.statuses.push(status),
    };
    const timing = {
      ...HASTY,
      now: () => HASTY.now() + this.#laterMs,
      sleep: (ms: number, signal: AbortSignal) => {
        this.pauses++;
        return HASTY.sleep(ms, signal);
      },
    };
    const patience = { answerMs: silenceMs, silenceMs };
    const onEventTrouble = (reason: string) => void this.troubles.push(reason);
    const ours = { ...(node && { node, onEventTrouble }), ...(isolated && { isolated }) };
    const watch = watchCluster(server.access, listener, { timing, patience, ...ours });
    this.ready = watch.ready.then(() => {
      this.isReady = true;
    });
    this.close = () => watch.close();
  }

  get keys(): readonly string[] {
    const { namespaces, pods, nodes, policies } = this.state;
    return [namespaces, pods, nodes, policies].flatMap(map => [...map.keys()]).toSorted();
  }

  /** `synced`, `lost v1beta1`, …: the lines of a log, as far as they concern this source. */
  told(source: string): readonly string[] {
    return this.statuses
      .filter(status => status.source === source)
      .map(({ state, version }) => (version === undefined ? state : `${state} ${version}`));
  }

  /** The deleted objects, in order. */
  get gone(): readonly string[] {
    return this.events.filter(({ value }) => value === undefined).map(({ key }) => key);
  }
}

/** Back-off a hundred times as fast; a watch is long after a tenth of a second. */
const HASTY = {
  now: () => performance.now() * 10,
  sleep: (ms: number, signal: AbortSignal) => sleep(ms / 100, undefined, { signal }).catch(() => {}),
  random: Math.random,
};

/** The server's present state, decoded. */
export function stateOf(server: FakeApiServer): ClusterState {
  const state = new ClusterState();
  for (const object of server.objects) {
    const { event } = decodeObject(object);
    if (event !== undefined) state.apply(event);
  }
  return state;
}

/** Whether both have the same objects, whatever the order in which they arrived. */
export function isSameState(a: ClusterState, b: ClusterState): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted({ namespaces, pods, nodes, policies }: ClusterState): unknown {
  return [namespaces, pods, nodes, policies].map(map =>
    [...(map as Map<string, unknown>)].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}
