/** Plays a history of a cluster to the incremental engine, and holds it against `compile` at every flush. */

import fc from 'fast-check';
import { isolated } from '../../../src/agent/changes/isolated.ts';
import type { PodInForce } from '../../../src/agent/engine.ts';
import { compile } from '../../../src/compiler/compile.ts';
import type { MemberRoom } from '../../../src/compiler/live/groups/memberroom.ts';
import { Incremental } from '../../../src/compiler/live/incremental.ts';
import { LIMITS } from '../../../src/compiler/live/limits.ts';
import type { PodPatience } from '../../../src/compiler/live/preparations/podpreparations.ts';
import type { Hearing } from '../../../src/compiler/namespeers.ts';
import { wholeOf } from '../../../src/lib/collections/pieces.ts';
import {
  type Cluster,
  type ClusterEvent,
  ClusterState,
  namespaceOf,
  type Pod,
  type PodKey,
} from '../../../src/model/cluster.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import type { PodLinks } from '../../../src/model/podlinks.ts';
import { type Policy, withoutRules } from '../../../src/model/policy.ts';
import type { PolicyChange } from '../../../src/model/policychange.ts';
import { mapTables } from '../../../src/nft/maptables.ts';
import type { Expr, NftRule, NftVerdict, Ruleset, Table } from '../../../src/nft/ruleset.ts';
import type { Step } from '../arbitrary/events.ts';
import { HEARING } from '../oracle/told.ts';

const NODE = 'n1';

/** What an agent is told beside the cluster. */
export interface Enforced {
  readonly unknownPods: UnknownPods;
  readonly podLinks: PodLinks;
  readonly hearing: Hearing | undefined;
  /** Of how many entries a namespace is crowded where policies are made ready. */
  readonly mostEntries?: number;
}

export const enforced: fc.Arbitrary<Enforced> = fc.record({
  unknownPods: fc.constantFrom('allow', 'deny'),
  podLinks: fc.constantFrom('ours', 'others'),
  hearing: fc.constantFrom(undefined, HEARING, HEARING),
  mostEntries: fc.constantFrom(LIMITS.mostEntries, 0, 8),
});

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

/** Some of them for longer than others. */
function isolatingFirst(step: Step, at: number): Step[] {
  const { event } = step;
  if (event.type !== 'policy' || event.value?.kind !== 'NetworkPolicy' || event.value.audited) return [step];
  return [{ event: { ...event, value: awaitingAllowances(event.value) }, flush: at % 3 > 0 }, step];
}

/** As a new policy is in force while what it allows is on its way. */
export function awaitingAllowances(policy: Policy): Policy {
  return { ...isolated(policy), awaitsAllowances: true };
}

export function firstDifference(got: string, wanted: string): string {
  const [ours, theirs] = [got.split('\n'), wanted.split('\n')];
  const line = ours.findIndex((text, i) => text !== theirs[i]);
  return `  incremental ${ours[line]}\n  compile     ${theirs[line]}`;
}

/** Names and contents in one order, whatever the order in which they were made. */
export function text(ruleset: Ruleset): string {
  const tables = [...ruleset.tables].map(([family, { chains, sets }]) => [
    family,
    named(chains),
    named(sets),
  ]);
  return JSON.stringify(tables, null, 1);
}

function named(objects: ReadonlyMap<string, object>): string[] {
  return [...objects.keys()].sort().map(name => objectText(objects.get(name)!));
}

const texts = new WeakMap<object, string>();

function objectText(object: object): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const made = JSON.stringify(object, (key, value) => (key === 'elements' ? [...value].sort() : value));
  texts.set(object, made);
  return made;
}

export interface Count {
  flushes: number;
  chains: number;
  /** Flushes with chains that go ahead of what is made ready. */
  ahead?: number;
}

/** Replays a history, and compares at every flush and at the end. */
export function replay(steps: readonly Step[], how: Enforced, count: Count): string {
  const engine = new Incremental(NODE, how.unknownPods, how.podLinks, how.hearing);
  const state = new ClusterState();
  const compare = () => {
    const desired = compile(state, NODE, how.unknownPods, how.podLinks, how.hearing);
    count.flushes++;
    count.chains += desired.tables.get('ip')!.chains.size;
    const [got, wanted] = [text(engine.flush()), text(desired)];
    if (got !== wanted) throw new Error(`incremental differs from compile:\n${firstDifference(got, wanted)}`);
  };
  for (const { event, flush } of steps) {
    engine.note(event);
    state.apply(event);
    if (flush) compare();
  }
  compare();
  return text(engine.flush());
}

/** Events come while a flush is under way: it makes what `compile` makes of those before it, and forgets none of the others. */
function replayInPieces(steps: readonly Step[], how: Enforced): string {
  const engine = new Incremental(NODE, how.unknownPods, how.podLinks, how.hearing);
  const state = new ClusterState();
  const left = [...steps];
  for (let step = left.shift(); step !== undefined; step = left.shift()) {
    engine.note(step.event);
    state.apply(step.event);
    if (!step.flush) continue;
    const wanted = text(compile(state, NODE, how.unknownPods, how.podLinks, how.hearing));
    const late: ClusterEvent[] = [];
    const got = text(
      interrupted(engine, () => late.push(...left.splice(0, 1).map(({ event }) => event)), late),
    );
    if (got !== wanted)
      throw new Error(`in pieces, incremental differs from compile:\n${firstDifference(got, wanted)}`);
    for (const event of late) state.apply(event);
  }
  return text(engine.flush());
}

/** Sets of peers may have next to no members: what is in force is the cluster with the policies that have no room closed. */
export function replayInRoom(steps: readonly Step[], how: Enforced, room: MemberRoom, count: Refusals): void {
  const engine = new Incremental(NODE, how.unknownPods, how.podLinks, how.hearing, { room });
  const state = new ClusterState();
  const flush = () => {
    const got = text(engine.flush());
    const refused = engine.takeRefused();
    count.refused += refused.length;
    for (const { id, kind } of refused) {
      if (kind !== 'NetworkPolicy') throw new Error(`${id} is refused, and is nobody's`);
      state.apply({
        type: 'policy',
        key: id,
        value: withoutRules(state.policies.get(id)!, 'no member room'),
      });
    }
    const wanted = text(compile(state, NODE, how.unknownPods, how.podLinks, how.hearing));
    if (got !== wanted)
      throw new Error(`in little room, incremental differs from compile:\n${firstDifference(got, wanted)}`);
    if (JSON.stringify([...state.policies]) !== JSON.stringify([...engine.cluster.policies]))
      throw new Error('the engine knows other policies than are in force');
  };
  for (const { event, flush: isFlushed } of steps) {
    engine.note(event);
    state.apply(event);
    if (isFlushed) flush();
  }
  flush();
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
  const limits = { mostAsked: ONE_POD, patience };
  const engine = new Incremental(NODE, how.unknownPods, how.podLinks, how.hearing, limits);
  const state = new ClusterState();
  const past = new Past();
  const flush = () => {
    const flushed = wholeOf(engine.flushing());
    const waiting = engine.waitingPods();
    past.note(state);
    for (const [key, inForce] of waiting) past.check(key, inForce, state.pods.get(key));
    count.waited += [...waiting].filter(([key, known]) => known?.pod === state.pods.get(key)).length;
    count.closed += [...waiting.values()].filter(known => known?.pod.awaitsAllowances).length;
    const wanted = compile(withPods(state, waiting), NODE, how.unknownPods, how.podLinks, how.hearing);
    const [got, wantedText] = [text(withObjectsOf(wanted, flushed)), text(wanted)];
    if (got !== wantedText)
      throw new Error(
        `while pods wait, incremental differs from compile:\n${firstDifference(got, wantedText)}`,
      );
  };
  for (const step of steps) {
    engine.note(step.event);
    state.apply(step.event);
    if (step.flush) flush();
  }
  for (let more = 0; more === 0 || engine.isBehind(); more++) {
    if (more > MOST_FLUSHES) throw new Error('pods wait without end');
    flush();
  }
  if (engine.waitingPods().size > 0) throw new Error('the last flush has left pods');
  return text(engine.flush());
}

/** With the pods that wait as they are in force. */
export function withPods(state: Cluster, waiting: ReadonlyMap<PodKey, PodInForce | undefined>): Cluster {
  const { namespaces, nodes, policies, audited, hostPorts } = state;
  const pods = new Map(state.pods);
  for (const [key, inForce] of waiting)
    if (inForce === undefined) pods.delete(key);
    else pods.set(key, { ...inForce.pod, namespaceBefore: inForce.namespace });
  return { namespaces, nodes, policies, pods, ...(audited && { audited }), ...(hostPorts && { hostPorts }) };
}

/** How often pods waited by their namespace alone, or for what they are allowed. */
export interface Waits {
  waited: number;
  closed: number;
}

/** What pods and namespaces were when there was a flush. */
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
    const { awaitsAllowances: _, ...itself } = inForce.pod;
    if (!this.#pods.has(JSON.stringify(itself))) throw new Error(`${key} is in force as it never was`);
    if (!this.#namespaces.has(JSON.stringify(inForce.namespace)))
      throw new Error(`${key} is in force in a namespace that never was`);
  }
}

/** What of a pod of this node never waits. */
function whereAndHow(pod: Pod | undefined): string {
  return JSON.stringify(pod && [pod.node, pod.addresses, pod.ports]);
}

/** How many of the coming policies are made ready. */
const PREPARED = 3;

/** The policies that come next are made ready: sets that nothing names are all the difference, and in the end there are none. */
function replayPrepared(steps: readonly Step[], how: Enforced, count: Count): string {
  const { mostEntries = LIMITS.mostEntries } = how;
  const engine = new Incremental(NODE, how.unknownPods, how.podLinks, how.hearing, { mostEntries });
  const state = new ClusterState();
  for (const [at, { event, flush }] of steps.entries()) {
    engine.prepare(comingChanges(steps.slice(at)));
    engine.note(event);
    state.apply(event);
    if (!flush) continue;
    const desired = compile(state, NODE, how.unknownPods, how.podLinks, how.hearing);
    const [got, wanted] = [text(withObjectsOf(desired, engine.flush())), text(desired)];
    if (engine.isAhead()) count.ahead = (count.ahead ?? 0) + 1;
    if (got !== wanted)
      throw new Error(`prepared, incremental differs from compile:\n${firstDifference(got, wanted)}`);
  }
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

/**
 * Without chains and sets that the desired state has not: where all others are as desired, nothing leads to those. Throws
 * where one of them leads to what is not there, which the kernel refuses.
 */
export function withObjectsOf(desired: Ruleset, ruleset: Ruleset): Ruleset {
  return mapTables(ruleset, ({ sets, chains }, family) => {
    const wanted = desired.tables.get(family);
    const more = [...chains.values()].filter(({ name }) => !wanted?.chains.has(name));
    for (const { name, rules } of more) assertThere(name, rules.flatMap(namedByRule), { sets, chains });
    for (const set of [...sets.values()].filter(({ name, verdicts }) => verdicts && !wanted?.sets.has(name)))
      assertThere(set.name, [...set.elements.values()].flatMap(namedByElement), { sets, chains });
    return {
      sets: new Map([...sets].filter(([name]) => wanted?.sets.has(name))),
      chains: new Map([...chains].filter(([name]) => wanted?.chains.has(name))),
    };
  });
}

function assertThere(user: string, names: readonly string[], { sets, chains }: Table): void {
  const missing = names.find(name => !sets.has(name) && !chains.has(name));
  if (missing !== undefined) throw new Error(`${user} is ahead and leads to ${missing}, which is not there`);
}

function namedByRule({ exprs }: NftRule): string[] {
  return exprs.flatMap(expr => ('set' in expr ? [expr.set] : namedByElement({ verdict: verdictOf(expr) })));
}

function verdictOf(expr: Expr): NftVerdict | undefined {
  return expr.kind === 'verdict' ? expr.verdict : undefined;
}

function namedByElement({ verdict }: { readonly verdict?: NftVerdict | undefined }): string[] {
  return verdict !== undefined && 'chain' in verdict ? [verdict.chain] : [];
}

/** A flush, with one event more after each of its pieces. */
function interrupted(engine: Incremental, more: () => void, late: readonly ClusterEvent[]): Ruleset {
  const flushing = engine.flushing();
  for (let piece = flushing.next(); ; piece = flushing.next()) {
    if (piece.done) return piece.value;
    const before = late.length;
    more();
    for (const event of late.slice(before)) engine.note(event);
  }
}

/** The last word about each object, in an order of its own: the same cluster. */
function squashed(steps: readonly Step[]): Step[] {
  const last = new Map<string, ClusterEvent>();
  for (const { event } of steps) last.set(`${event.type} ${event.key}`, event);
  return [...last.values()].map(event => ({ event, flush: false }));
}
