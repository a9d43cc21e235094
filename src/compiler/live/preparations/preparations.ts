/**
 * What is about to happen to pods of this node, and what they will need by it: their classes, which are made in pieces,
 * and the groups of peers of those. A group takes in all of its pods when it begins, and a change may need hundreds of
 * them: they begin before it, some in each flush, while nothing in force leads to them. Whoever changes a policy of a
 * thousand rules or of thousands of members, or relabels a pod that such policies select, waits for itself, and nobody
 * for it.
 *
 *     request(…) ─▶ the classes that pods will be in are made ─▶ each flush begins some groups, of each request one
 *                      in turn, and then puts up chains (preparedclasses.ts) ─▶ isReady ─▶ it is taken in, and finds its classes
 *                      made and its groups full
 *
 * What is merged of several policies depends on all of them: where that is something else meanwhile, the classes
 * are made again. What the rules mean never depends on any of it: a change that is taken in without it has its groups in
 * the same flush.
 */
import type { Pieces } from '../../../lib/collections/pieces.ts';
import type { Family } from '../../../model/address.ts';
import type { Rule } from '../../../model/policy.ts';
import type { Builder } from '../../builder.ts';
import type { PodClass } from '../../classes.ts';
import type { NamedGroup } from '../../group.ts';
import type { ClassBuilder } from '../../parts.ts';
import type { LiveClasses } from '../classes.ts';
import type { LiveGroups } from '../groups/groups.ts';
import type { PodIndex } from '../pods/podindex.ts';
import type { WorkBudget } from '../workbudget.ts';

/** What the changes may weigh that begin in one flush; a single one may weigh more. */
const MOST_BEGUN = 3_000;
/** A group that asks about fewer pods than this costs as if it asked about so many. */
const LEAST_ASKED = 20;

/** Where the classes of the pods are others each time that it is ready, it goes as it is. */
const MOST_TRIES = 10;

/** A change of a policy (policypreparations.ts), or that a pod is in another class (podpreparations.ts). */
export interface PreparationRequest {
  readonly of: 'policy' | 'pod';
  readonly key: string;
  /** Whose room for members it needs; empty where it is nobody's. */
  readonly namespace: string;
  /** It is not ready as long as there is no room. */
  readonly waitsForRoom?: boolean;
  /** Of what it says: where it is another one, it is another request. */
  readonly version?: object | undefined;
  /** In entries: about how long it takes to make its classes. */
  readonly weight: number;
  /** What its classes depend on, as that is now. */
  inputs(): ReadonlySet<object>;
  /** The classes that pods will be in by it. */
  targetClasses(): Pieces<readonly PodClass[]>;
}

interface Preparation {
  readonly request: PreparationRequest;
  /** As it was when it was begun. */
  readonly inputs: ReadonlySet<object>;
  readonly targetClasses: readonly PodClass[];
  /** Groups that live, and do so until the preparation ends. */
  readonly held: Need[];
  readonly missing: Need[];
  /** Classes that do not go ahead yet. */
  readonly unsent: PodClass[];
  /** How many members the groups have that it brought to life. */
  filled: number;
  /** How often it was begun. */
  readonly tries: number;
}

/** A preparation that a flush has begun, and another one goes on with. */
interface Beginning {
  readonly request: PreparationRequest;
  readonly pieces: Pieces<Preparation>;
}

export class LivePreparations {
  readonly #groups: LiveGroups;
  readonly #classes: LiveClasses;
  readonly #stagesPrepared: boolean;
  /** Those whose last turn is longest ago come first. */
  readonly #preparations = new Map<string, Preparation>();
  #wanted: ReadonlyMap<string, PreparationRequest> = new Map();
  /** Those whose last turn is longest ago come first. */
  readonly #beginnings = new Map<string, Beginning>();
  /** No group was filled because somebody waited: once, and not twice in a row. */
  #isPassedOver = false;

  constructor(groups: LiveGroups, classes: LiveClasses, stagesPrepared: boolean) {
    this.#groups = groups;
    this.#classes = classes;
    this.#stagesPrepared = stagesPrepared;
  }

  /** From now on, of policies or of pods, these and no others. */
  request(of: PreparationRequest['of'], requests: Iterable<PreparationRequest>): void {
    const others = [...this.#wanted.values()].filter(request => request.of !== of);
    this.#wanted = new Map([...others, ...requests].map(request => [request.key, request]));
  }

  isReady(request: PreparationRequest): boolean {
    const preparation = this.#preparations.get(request.key);
    return preparation !== undefined && this.#isOf(preparation, request) && isDone(preparation);
  }

  /** Something is left to do. */
  get isBehind(): boolean {
    return (
      this.#wanted.size !== this.#preparations.size ||
      [...this.#wanted.values()].some(request => !this.isReady(request))
    );
  }

  /** New groups may ask about as many pods as there is time for; of what takes long a moment's work is done where somebody waits. */
  *advance(budget: WorkBudget): Pieces<void> {
    yield* this.#beginSome(budget);
    for (const preparation of this.#preparations.values())
      if (!this.#wanted.has(preparation.request.key)) this.#end(preparation);
    this.#isPassedOver = budget.isAwaited() && !this.#isPassedOver;
    if (!this.#isPassedOver) yield* this.#fill(budget);
  }

  /** To make what a change needs takes long by itself: others begin in later flushes. */
  *#beginSome({ isAwaited, moment }: WorkBudget): Pieces<void> {
    this.#beginWanted();
    const isBrief = moment();
    let begun = 0;
    for (const beginning of [...this.#beginnings.values()]) {
      for (let piece = beginning.pieces.next(); ; piece = beginning.pieces.next()) {
        if (piece.done) {
          this.#begun(piece.value);
          break;
        }
        if (isAwaited() && !isBrief()) {
          // What takes hundreds of pieces keeps no other waiting.
          this.#beginnings.delete(beginning.request.key);
          this.#beginnings.set(beginning.request.key, beginning);
          return;
        }
        yield;
      }
      begun += beginning.request.weight;
      if (begun >= MOST_BEGUN) return;
    }
  }

  /** Whoever edits a policy again and again has a new change, which goes behind those of others. */
  #beginWanted(): void {
    for (const [key, { request, pieces }] of this.#beginnings) {
      if (isVersionOf(request, this.#wanted.get(key))) continue;
      pieces.return(undefined as never);
      this.#beginnings.delete(key);
    }
    for (const request of this.#wanted.values()) {
      const preparation = this.#preparations.get(request.key);
      const isOf = preparation !== undefined && this.#isOf(preparation, request);
      if (isOf || this.#beginnings.has(request.key)) continue;
      this.#beginnings.set(request.key, { request, pieces: this.#begin(request, preparation) });
    }
  }

  #begun(preparation: Preparation): void {
    const { key } = preparation.request;
    const before = this.#preparations.get(key);
    this.#beginnings.delete(key);
    // What both hold stays alive.
    if (before !== undefined) this.#end(before);
    this.#preparations.set(key, preparation);
  }

  /** It is about this very version, and what it depends on is what it was. */
  #isOf({ request, inputs, tries }: Preparation, now: PreparationRequest): boolean {
    if (!isVersionOf(request, now)) return false;
    if (tries >= MOST_TRIES) return true;
    const current = now.inputs();
    return current.size === inputs.size && [...current].every(part => inputs.has(part));
  }

  /** Groups that live already are held from here on: the version before it, which is in force, may go. */
  *#begin(request: PreparationRequest, before: Preparation | undefined): Pieces<Preparation> {
    const tries = before !== undefined && isVersionOf(before.request, request) ? before.tries + 1 : 1;
    const inputs = request.inputs();
    const targetClasses = yield* request.targetClasses();
    yield;
    const builders = yield* this.#build(targetClasses);
    const unsent = this.#stagesPrepared ? [...targetClasses] : [];
    const preparation: Preparation = {
      request,
      inputs,
      targetClasses,
      unsent,
      held: [],
      missing: [],
      filled: 0,
      tries,
    };
    for (const need of needsOf(builders)) {
      if (this.#groups.has(need.group)) this.#hold(need, preparation);
      else preparation.missing.push(need);
    }
    return preparation;
  }

  /** All, or where another request is begun instead, none. */
  *#build(targetClasses: readonly PodClass[]): Pieces<ClassBuilder[]> {
    const builders: ClassBuilder[] = [];
    const prepared: PodClass[] = [];
    try {
      for (const podClass of targetClasses) {
        builders.push(...(yield* this.#classes.prepare(podClass, targetClasses)));
        prepared.push(podClass);
      }
      return builders;
    } finally {
      if (prepared.length < targetClasses.length)
        for (const podClass of prepared) this.#classes.forget(podClass);
    }
  }

  /** Of each one group in turn; the next flush goes on with the one whose last turn is longest ago. */
  *#fill(budget: WorkBudget): Pieces<void> {
    let asked = 0;
    for (let behind = [...this.#preparations.values()]; behind.length > 0; ) {
      behind = behind.filter(preparation => this.#mayGoOn(preparation));
      for (const preparation of behind) {
        const { request } = preparation;
        asked += this.#goOn(preparation);
        this.#preparations.delete(request.key);
        this.#preparations.set(request.key, preparation); // behind all others
        yield;
        if (asked >= budget.most()) return;
      }
    }
  }

  /** A group, or when all are there what goes ahead of a class; answers what it cost, in pods that were asked. */
  #goOn(preparation: Preparation): number {
    const need = preparation.missing.pop();
    return need === undefined
      ? this.#classes.stage(preparation.unsent.pop()!)
      : Math.max(LEAST_ASKED, this.#hold(need, preparation));
  }

  #hold(need: Need, preparation: Preparation): number {
    preparation.held.push(need);
    const asked = Math.max(...need.families.map(family => this.#groups.acquire(need.group, family)));
    if (asked > 0) preparation.filled += this.#groups.membersOf(need.group);
    return asked;
  }

  /** Where there is no room, whoever takes it in finds that out, unless it waits for room. */
  #mayGoOn(preparation: Preparation): boolean {
    const { request, missing, unsent } = preparation;
    if (missing.length === 0 || this.#hasRoom(preparation)) return !isDone(preparation);
    if (!this.#wanted.get(request.key)?.waitsForRoom) missing.length = unsent.length = 0;
    return false;
  }

  #hasRoom({ request: { namespace }, filled }: Preparation): boolean {
    const ofAll = [...this.#preparations.values()].map(each => each.filled);
    return namespace === '' || this.#groups.room.mayPrepare(namespace, filled, ofAll);
  }

  #end({ request, targetClasses, held }: Preparation): void {
    this.#preparations.delete(request.key);
    for (const { group, families } of held)
      for (const family of families) this.#groups.release(group, family);
    for (const podClass of targetClasses) this.#classes.forget(podClass);
  }
}

function isDone({ missing, unsent }: Preparation): boolean {
  return missing.length === 0 && unsent.length === 0;
}

function isVersionOf(request: PreparationRequest, other: PreparationRequest | undefined): boolean {
  return other !== undefined && other.version === request.version;
}

// The groups that classes need which are made and in no table yet.

/** A group in the tables that will name it. */
interface Need {
  readonly group: NamedGroup;
  readonly families: readonly Family[];
}

/** Each once. */
function needsOf(builders: readonly ClassBuilder[]): Need[] {
  // A part is many classes'.
  const distinct = new Set<Builder>(
    builders.flatMap(builder => [builder, ...[...builder.shared].map(({ made }) => made)]),
  );
  const uses = [...distinct].flatMap(({ family, groups }) =>
    [...groups.values()].map(group => ({ group, family })),
  );
  const ofPods = uses.filter(({ group }) => group.group.kind !== 'names'); // answers fill those
  const byName = Map.groupBy(ofPods, ({ group }) => group.name).values();
  return [...byName].map(its => ({
    group: its[0]!.group,
    families: [...new Set(its.map(({ family }) => family))],
  }));
}

/** How many pods and namespaces are looked at for the peers of these rules; no further than to `most`. */
export function countAskedBy(rules: Iterable<Rule>, podIndex: PodIndex, most: number): number {
  let asked = 0;
  for (const { peers } of rules)
    for (const peer of peers === 'any' ? [] : peers)
      if (peer.kind === 'pods') asked += podIndex.countAsked(peer.selector, most - asked);
  return asked;
}
