/** Plays a history of a cluster to the incremental engine, and holds it against `compile` at every flush. */
import { isolated } from '../../../src/agent/admission/change.ts';
import type { PodInForce } from '../../../src/agent/engine.ts';
import type { SetQuota } from '../../../src/compiler/live/groups/setquota.ts';
import type { Incremental } from '../../../src/compiler/live/incremental.ts';
import { LIMITS } from '../../../src/compiler/live/limits.ts';
import type { PodPatience } from '../../../src/compiler/live/preparations/podpreparations.ts';
import { wholeOf } from '../../../src/lib/collections/pieces.ts';
import {
  type Cluster,
  type ClusterEvent,
  ClusterState,
  namespaceOf,
  type Pod,
  type PodKey,
} from '../../../src/model/cluster.ts';
import { type Policy, withoutRules } from '../../../src/model/policy.ts';
import type { PolicyChange } from '../../../src/model/policychange.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { type Enforced, PLAIN } from '../arbitrary/enforced.ts';
import { type Step, stepsOf } from '../arbitrary/events.ts';
import { assertExactly, assertInForce, text } from '../oracle/inforce.ts';
import { engineOf, NODE } from './engine.ts';

/** A history in all its forms: as it is, squashed, the other way round, every event doubled. All end the same. */
export function checkHistory(steps: readonly Step[], how: Enforced, count: Count): void {
  const end = replay(steps, how, count);
  if (replayInPieces(steps, how) !== end)
    throw new Error('with events that come during flushes, the history ends otherwise');
  if (replayPrepared(steps, how, count) !== end)
    throw new Error('with policies that are made ready before they come, the history ends otherwise');
  const variants = {
    squashed: squashed(steps),
    reversed: squashed(steps).reverse(),
    doubled: steps.flatMap(step => [step, step]),
    'with policies that isolate before they allow': steps.flatMap(isolatingFirst),
  };
  for (const [name, variant] of Object.entries(variants)) {
    if (replay(variant, how, count) !== end) throw new Error(`${name}, the history ends otherwise`);
  }
}

/** Lets policies isolate first, some of them for longer than others. */
function isolatingFirst(step: Step, at: number): Step[] {
  const { event } = step;
  if (event.type !== 'policy' || event.value?.kind !== 'NetworkPolicy' || event.value.audited) return [step];
  return [{ event: { ...event, value: awaitingAllowances(event.value) }, flush: at % 3 > 0 }, step];
}

/** A new policy as it is in force while its allow rules are still to come. */
export function awaitingAllowances(policy: Policy): Policy {
  return { ...isolated(policy), closed: 'rules follow' };
}

export interface Count {
  flushes: number;
  chains: number;
  /** Flushes with chains that go ahead of what is made ready. */
  ahead?: number;
}

/** Replays a history, and compares at every flush and at the end. */
export function replay(
  steps: readonly Step[],
  how = PLAIN,
  count: Count = { flushes: 0, chains: 0 },
): string {
  const engine = engineOf([], {}, how);
  const compare = (state: Cluster) => {
    const { tables } = assertExactly(engine.flush(), state, how);
    count.flushes++;
    count.chains += tables.get('ip')!.chains.size;
  };
  compare(play(steps, engine, compare));
  return text(engine.flush());
}

/** Notes each event, and flushes after those that say so. Answers the cluster that they make. */
function play(
  steps: readonly Step[],
  engine: Incremental,
  flush: (state: ClusterState) => void,
  before = (_at: number) => {},
): ClusterState {
  const state = new ClusterState();
  for (const [at, step] of steps.entries()) {
    before(at);
    engine.apply(step.event);
    state.apply(step.event);
    if (step.flush) flush(state);
  }
  return state;
}

/** Events come while a flush is under way: it makes what `compile` makes of those before it, and forgets none of the others. */
function replayInPieces(steps: readonly Step[], how: Enforced): string {
  const engine = engineOf([], {}, how);
  const state = new ClusterState();
  const left = [...steps];
  for (let step = left.shift(); step !== undefined; step = left.shift()) {
    engine.apply(step.event);
    state.apply(step.event);
    if (!step.flush) continue;
    const late: ClusterEvent[] = [];
    const more = () => late.push(...left.splice(0, 1).map(({ event }) => event));
    assertExactly(interrupted(engine, more, late), state, how);
    for (const event of late) state.apply(event);
  }
  return text(engine.flush());
}

/** Sets of peers may have next to no members: what is in force is the cluster with the policies that have no room closed. */
export function replayInRoom(steps: readonly Step[], how: Enforced, room: SetQuota, count: Refusals): void {
  const engine = engineOf([], { room }, how);
  const flush = (state: ClusterState) => {
    const flushed = engine.flush();
    const refused = engine.takeRefused();
    count.refused += refused.length;
    for (const { id, kind } of refused) {
      if (kind !== 'NetworkPolicy') throw new Error(`${id} is refused, and belongs to no policy`);
      state.apply({
        type: 'policy',
        key: id,
        value: withoutRules(state.policies.get(id)!, 'no room'),
      });
    }
    assertExactly(flushed, state, how);
    if (JSON.stringify([...state.policies]) !== JSON.stringify([...engine.cluster.policies]))
      throw new Error('the engine knows other policies than are in force');
  };
  flush(play(steps, engine, flush));
}

export interface Refusals {
  refused: number;
}

/** A flush takes one pod of another node in, and no more. */
const ONE_POD = 0;
const MOST_FLUSHES = 200;

/**
 * Pods wait for their turns: what is in force is what `compile` makes of a cluster in which each of them is as it was, in
 * its namespace as that was, and no pod of the node waits.
 */
export function replayWaiting(
  steps: readonly Step[],
  how: Enforced,
  count: Waits,
  patience: PodPatience,
): string {
  const limits = { mostLookups: ONE_POD, patience };
  const engine = engineOf([], limits, how);
  const past = new Past();
  const flush = (state: Cluster) => {
    const flushed = wholeOf(engine.flushInPieces());
    const waiting = engine.waitingPods();
    past.note(state);
    for (const [key, inForce] of waiting) past.check(key, inForce, state.pods.get(key));
    count.waited += [...waiting].filter(([key, known]) => known?.pod === state.pods.get(key)).length;
    count.closed += [...waiting.values()].filter(known => known?.pod.closed).length;
    assertInForce(flushed, state, waiting, how);
  };
  const state = play(steps, engine, flush);
  for (let more = 0; more === 0 || engine.isBehind(); more++) {
    if (more > MOST_FLUSHES) throw new Error('pods wait without end');
    flush(state);
  }
  if (engine.waitingPods().size > 0) throw new Error('the last flush has left pods');
  return text(engine.flush());
}

/** How often pods waited because of their namespace, and how often for their allow rules. */
export interface Waits {
  waited: number;
  closed: number;
}

/** The pods and namespaces as they were at each flush. */
class Past {
  readonly #pods = new Set<string>();
  readonly #namespaces = new Set<string>();

  note(cluster: Cluster): void {
    for (const pod of cluster.pods.values()) {
      this.#pods.add(JSON.stringify(pod));
      this.#namespaces.add(JSON.stringify(namespaceOf(cluster, pod.namespace)));
    }
  }

  check(key: PodKey, inForce: PodInForce | undefined, now: Pod | undefined): void {
    const isHere = [inForce?.pod.node, now?.node].includes(NODE);
    if (isHere && whereAndHow(inForce?.pod) !== whereAndHow(now))
      throw new Error(`${key} of this node waits, and has come, gone or moved`);
    if (inForce === undefined) return;
    const { closed: _, ...itself } = inForce.pod;
    if (!this.#pods.has(JSON.stringify(itself))) throw new Error(`${key} is in force as it never was`);
    if (!this.#namespaces.has(JSON.stringify(inForce.namespace)))
      throw new Error(`${key} is in force in a namespace that never was`);
  }
}

/** The properties of a local pod that are never delayed. */
function whereAndHow(pod: Pod | undefined): string {
  return JSON.stringify(pod && [pod.node, pod.addresses, pod.ports]);
}

/** How many of the coming policies are made ready. */
const PREPARED = 3;

/** The policies that come next are made ready: sets that nothing names are all the difference, and in the end there are none. */
function replayPrepared(steps: readonly Step[], how: Enforced, count: Count): string {
  const { mostEntries = LIMITS.mostEntries } = how;
  const engine = engineOf([], { mostEntries }, how);
  const flush = (state: Cluster) => {
    assertInForce(engine.flush(), state, undefined, how);
    if (engine.isStaged()) count.ahead = (count.ahead ?? 0) + 1;
  };
  play(steps, engine, flush, at => engine.prepare(comingChanges(steps.slice(at))));
  engine.prepare([]);
  return text(engine.flush());
}

/** The changes of policies that come next. */
export function comingChanges(steps: readonly Step[]): PolicyChange[] {
  const changes = steps.flatMap(({ event }): PolicyChange[] =>
    event.type === 'policy' ? [{ id: event.key, value: event.value }] : [],
  );
  return changes.slice(0, PREPARED);
}

/** A flush, with one event more after each of its pieces. */
function interrupted(engine: Incremental, more: () => void, late: readonly ClusterEvent[]): Ruleset {
  const flushing = engine.flushInPieces();
  for (let piece = flushing.next(); ; piece = flushing.next()) {
    if (piece.done) return piece.value;
    const before = late.length;
    more();
    for (const event of late.slice(before)) engine.apply(event);
  }
}

/** The last word about each object, in an order of its own: the same cluster. */
function squashed(steps: readonly Step[]): Step[] {
  const last = new Map<string, ClusterEvent>();
  for (const { event } of steps) last.set(`${event.type} ${event.key}`, event);
  return stepsOf([...last.values()]);
}
