/**
 * Changes of policies that are about to be taken in, and what the pods will need by them: their classes, which are made in
 * pieces, and the groups of peers of those. A group takes in all of its pods when it begins, and a change may need
 * hundreds of them: they begin before it, some in each flush, while nothing in force leads to them. Whoever changes a
 * policy of a thousand rules or of thousands of members waits for itself, and nobody for it.
 *
 *     prepare(changes) ─▶ the classes that pods will be in are made ─▶ each flush begins some groups, of each change one
 *                         in turn ─▶ isReady ─▶ the change is noted, and finds its classes made and its groups full
 *
 * What is merged of several policies depends on all of them: where the pods are in other classes meanwhile, the classes
 * that they will be in are made again. What the rules mean never depends on any of it: a change that is noted without it
 * has its groups in the same flush.
 */
import type { Pieces } from '../../model/pieces.ts';
import {
  type Direction,
  namespaceOfPolicy,
  type Policy,
  type PolicyId,
  type Rule,
} from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import { countEntries } from '../../model/policysize.ts';
import type { PodClass } from '../classes.ts';
import type { ClassBuilder } from '../parts.ts';
import { isSmallPolicy } from '../shares.ts';
import type { LiveClasses } from './classes.ts';
import type { LiveGroups } from './groups.ts';
import { type Need, needsOf } from './needs.ts';
import type { LivePlacements } from './placements.ts';
import type { IndexedPod, PodIndex } from './podindex.ts';
import type { Slack } from './slack.ts';

const DIRECTIONS: readonly Direction[] = ['ingress', 'egress'];

/** What the changes may weigh that begin in one flush; a single one may weigh more. */
const MOST_BEGUN = 3_000;
/** A group that asks about fewer pods than this costs as if it asked about so many. */
const LEAST_ASKED = 20;

/** Who asks more is many anyway. */
const MOST_COUNTED = 20_000;
/** Where the classes of the pods are others each time that it is ready, it goes as it is. */
const MOST_TRIES = 10;

interface Preparation {
  readonly change: PolicyChange;
  /** The classes that the pods are in, and those that they will be in. */
  readonly leaving: ReadonlySet<PodClass>;
  readonly joining: readonly PodClass[];
  /** Groups that live, and do so until the preparation ends. */
  readonly held: Need[];
  readonly missing: Need[];
  /** How many members the groups have that it brought to life. */
  filled: number;
  /** How often it was begun. */
  readonly tries: number;
}

/** A preparation that a flush has begun, and another one goes on with. */
interface Beginning {
  readonly change: PolicyChange;
  readonly pieces: Pieces<Preparation>;
}

/** It has peers of which only the cluster tells how many they are. */
function asksCluster(policy: Policy | undefined): boolean {
  const isOfCluster = ({ peers }: Rule) =>
    peers !== 'any' && peers.some(({ kind }) => kind === 'pods' || kind === 'nodes');
  return policy !== undefined && !policy.audited && rulesOf(policy).some(isOfCluster);
}

/** To make its rules takes long by itself. */
function isLarge(policy: Policy | undefined): boolean {
  return (
    policy !== undefined && !policy.audited && DIRECTIONS.some(direction => !isSmallPolicy(policy, direction))
  );
}

function rulesOf({ ingress = [], egress = [] }: Policy): readonly Rule[] {
  return [...ingress, ...egress];
}

export class LivePreparations {
  readonly #podIndex: PodIndex;
  readonly #groups: LiveGroups;
  readonly #classes: LiveClasses;
  readonly #placements: LivePlacements;
  readonly #node: string;
  /** Those whose last turn is longest ago come first. */
  readonly #preparations = new Map<PolicyId, Preparation>();
  #wanted: ReadonlyMap<PolicyId, PolicyChange> = new Map();
  #beginning: Beginning | undefined;
  /** No group was filled because somebody waited: once, and not twice in a row. */
  #isPassedOver = false;

  constructor(
    podIndex: PodIndex,
    groups: LiveGroups,
    classes: LiveClasses,
    placements: LivePlacements,
    node: string,
  ) {
    this.#podIndex = podIndex;
    this.#groups = groups;
    this.#classes = classes;
    this.#placements = placements;
    this.#node = node;
  }

  /** From now on of these changes, and of no others. */
  want(changes: Iterable<PolicyChange>): void {
    const now = new Map(
      [...changes].filter(change => this.#isNeeded(change)).map(change => [change.id, change]),
    );
    // Whoever edits a policy again and again has a new change, which goes behind those of others.
    const still = [...this.#wanted.values()].filter(
      ({ id, value }) => now.has(id) && now.get(id)!.value === value,
    );
    this.#wanted = new Map([...still, ...now.values()].map(change => [change.id, change]));
  }

  /** Of a change that is wanted, or has nothing to prepare. */
  isReady(change: PolicyChange): boolean {
    if (!this.#isNeeded(change)) return true;
    const preparation = this.#preparations.get(change.id);
    return preparation !== undefined && this.#isOf(preparation, change) && preparation.missing.length === 0;
  }

  /**
   * About how many pods its groups would ask if none of them were there yet, with those of what it is merged with; no
   * further than to `MOST_COUNTED`.
   */
  asks(change: PolicyChange): number {
    if (!this.#isNeeded(change)) return 0;
    let asked = 0;
    for (const { peers } of change.value === undefined ? [] : rulesOf(change.value))
      for (const peer of peers === 'any' ? [] : peers)
        if (peer.kind === 'pods') asked += this.#podIndex.countAsked(peer.selector, MOST_COUNTED - asked);
    for (const podClass of this.#leaving(change)) {
      if (asked >= MOST_COUNTED) return asked;
      asked += this.#classes.countMerged(podClass);
    }
    return asked;
  }

  #isNeeded({ id, value }: PolicyChange): boolean {
    return isLarge(value) || asksCluster(value) || asksCluster(this.#placements.policy(id));
  }

  /** Something is left to do. */
  get isBehind(): boolean {
    return (
      this.#wanted.size !== this.#preparations.size ||
      [...this.#wanted.values()].some(change => !this.isReady(change))
    );
  }

  /** New groups may ask about as many pods as there is time for; of what takes long one piece is made where somebody waits. */
  *advance(slack: Slack): Pieces<void> {
    yield* this.#beginSome(slack);
    for (const preparation of this.#preparations.values())
      if (!this.#wanted.has(preparation.change.id)) this.#end(preparation);
    this.#isPassedOver = slack.isAwaited() && !this.#isPassedOver;
    if (!this.#isPassedOver) yield* this.#fill(slack);
  }

  /** To make what a change needs takes long by itself: others begin in later flushes. */
  *#beginSome({ isAwaited }: Slack): Pieces<void> {
    let begun = 0;
    for (let next = this.#next(); next !== undefined && begun < MOST_BEGUN; next = this.#next()) {
      for (let piece = next.pieces.next(); ; piece = next.pieces.next()) {
        if (piece.done) {
          this.#begun(piece.value);
          break;
        }
        if (isAwaited()) return;
        yield;
      }
      begun += next.change.value === undefined ? 1 : countEntries(next.change.value);
    }
  }

  /** What was begun goes on, unless it is another change by now. */
  #next(): Beginning | undefined {
    const isWanted = ({ id, value }: PolicyChange) =>
      this.#wanted.get(id)?.value === value && this.#wanted.has(id);
    if (this.#beginning !== undefined && isWanted(this.#beginning.change)) return this.#beginning;
    this.#beginning?.pieces.return(undefined as never);
    this.#beginning = undefined;
    for (const change of this.#wanted.values()) {
      const preparation = this.#preparations.get(change.id);
      if (preparation !== undefined && this.#isOf(preparation, change)) continue;
      this.#beginning = { change, pieces: this.#begin(change, preparation) };
      return this.#beginning;
    }
    return undefined;
  }

  #begun(preparation: Preparation): void {
    const before = this.#preparations.get(preparation.change.id);
    this.#beginning = undefined;
    // What both hold stays alive.
    if (before !== undefined) this.#end(before);
    this.#preparations.set(preparation.change.id, preparation);
  }

  /** It is about this very version, and the pods are still where they were. */
  #isOf({ change, leaving, tries }: Preparation, now: PolicyChange): boolean {
    if (change.value !== now.value) return false;
    if (tries >= MOST_TRIES) return true;
    const current = this.#leaving(now);
    return current.size === leaving.size && [...current].every(podClass => leaving.has(podClass));
  }

  /** Groups that live already are held from here on: the version before it, which is in force, may go. */
  *#begin(change: PolicyChange, before: Preparation | undefined): Pieces<Preparation> {
    const tries = before !== undefined && before.change.value === change.value ? before.tries + 1 : 1;
    const leaving = this.#leaving(change);
    const joining = this.#placements.joining(inForce(change), this.#pods());
    yield;
    const builders = yield* this.#build(joining);
    const preparation: Preparation = { change, leaving, joining, held: [], missing: [], filled: 0, tries };
    for (const need of needsOf(builders)) {
      if (this.#groups.has(need.group)) this.#hold(need, preparation);
      else preparation.missing.push(need);
    }
    return preparation;
  }

  /** All, or where another change is begun instead, none. */
  *#build(joining: readonly PodClass[]): Pieces<ClassBuilder[]> {
    const builders: ClassBuilder[] = [];
    let isDone = false;
    try {
      for (const podClass of joining) builders.push(...(yield* this.#classes.prepare(podClass)));
      isDone = true;
      return builders;
    } finally {
      if (!isDone) for (const podClass of joining) this.#classes.forget(podClass);
    }
  }

  #leaving(change: PolicyChange): ReadonlySet<PodClass> {
    return this.#placements.leaving(inForce(change), this.#pods());
  }

  #pods(): Iterable<IndexedPod> {
    return this.#podIndex.onNode(this.#node);
  }

  /** Of each change one group in turn; the next flush goes on with the change whose last turn is longest ago. */
  *#fill(slack: Slack): Pieces<void> {
    let asked = 0;
    for (let behind = [...this.#preparations.values()]; behind.length > 0; ) {
      behind = behind.filter(({ missing }) => missing.length > 0);
      for (const preparation of behind) {
        const { change, missing } = preparation;
        if (!this.#hasRoom(preparation)) {
          missing.length = 0; // whoever takes it in finds out that there is no room
          continue;
        }
        asked += Math.max(LEAST_ASKED, this.#hold(missing.pop()!, preparation));
        this.#preparations.delete(change.id);
        this.#preparations.set(change.id, preparation); // behind all others
        yield;
        if (asked >= slack.most()) return;
      }
    }
  }

  #hold(need: Need, preparation: Preparation): number {
    preparation.held.push(need);
    const asked = Math.max(...need.families.map(family => this.#groups.acquire(need.group, family)));
    if (asked > 0) preparation.filled += this.#groups.membersOf(need.group);
    return asked;
  }

  #hasRoom({ change, filled }: Preparation): boolean {
    const namespace = namespaceOfPolicy(change.id);
    const ofAll = [...this.#preparations.values()].map(each => each.filled);
    return namespace === '' || this.#groups.room.mayPrepare(namespace, filled, ofAll);
  }

  #end({ change, joining, held }: Preparation): void {
    this.#preparations.delete(change.id);
    for (const { group, families } of held)
      for (const family of families) this.#groups.release(group, family);
    for (const podClass of joining) this.#classes.forget(podClass);
  }
}

/** As pods will have it: one that is audited is in no class. */
function inForce({ id, value }: PolicyChange): PolicyChange {
  return { id, value: value?.audited ? undefined : value };
}
