/**
 * Prepares what pods of this node will need after a change: their classes, which are compiled in pieces, and the peer
 * groups of those. Filling a group adds all of its pods at once, and a change may need hundreds of groups: some are
 * filled in each flush before the change is applied, while no rule in force looks them up. So a change of a policy with
 * a thousand rules or thousands of members, or of a pod that such policies select, delays itself and no other change.
 *
 *     request(…) ─▶ the target classes are compiled ─▶ each flush fills some groups, of each request one in turn,
 *                      and then stages chains (preparedclasses.ts) ─▶ isReady ─▶ the change is applied, and finds
 *                      its classes compiled and its groups filled
 *
 * Merged peers depend on all policies of a class: if one of these changes meanwhile, the class is compiled again. The
 * meaning of the rules never depends on preparations: a change that is applied without one fills its groups in that
 * flush.
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

/** The weight of the requests that may begin in one flush; a single request may weigh more. */
const MOST_BEGUN = 3_000;
/** A group counts as if it looked at no fewer pods than this. */
const LEAST_ASKED = 20;

/** A request whose classes have changed so often whenever it was ready is not prepared again. */
const MOST_TRIES = 10;

/** A change of a policy (policypreparations.ts), or a pod that moves to another class (podpreparations.ts). */
export interface PreparationRequest {
  readonly of: 'policy' | 'pod';
  readonly key: string;
  /** The namespace whose quota its members count for; empty if there is none. */
  readonly namespace: string;
  /** Whether it becomes ready only when the quota has room. */
  readonly waitsForRoom?: boolean;
  /** The version that is prepared: another version is another request. */
  readonly version?: object | undefined;
  /** The number of entries that its classes compile, as a measure of the time. */
  readonly weight: number;
  /**
   * The objects on which the request's classes depend, as they are now: if they change, the classes are compiled again.
   */
  inputs(): ReadonlySet<object>;
  /** The classes that pods will be in after the change. */
  targetClasses(): Pieces<readonly PodClass[]>;
}

interface Preparation {
  readonly request: PreparationRequest;
  /** The inputs as they were when it began. */
  readonly inputs: ReadonlySet<object>;
  readonly targetClasses: readonly PodClass[];
  /** Groups that it uses, so that they are kept until it ends. */
  readonly held: Need[];
  readonly missing: Need[];
  /** Classes that are not staged yet. */
  readonly unstaged: PodClass[];
  /** How many members the groups have that it has filled. */
  filled: number;
  /** How often the preparation was begun. */
  readonly tries: number;
}

/** A preparation whose classes are compiled over several flushes. */
interface Beginning {
  readonly request: PreparationRequest;
  readonly pieces: Pieces<Preparation>;
}

export class LivePreparations {
  readonly #groups: LiveGroups;
  readonly #classes: LiveClasses;
  readonly #stagesPrepared: boolean;
  /** The preparations, in the order of their last turns, the oldest first. */
  readonly #preparations = new Map<string, Preparation>();
  #wanted: ReadonlyMap<string, PreparationRequest> = new Map();
  /** Preparations that are being compiled, in the order of their last turns, the oldest first. */
  readonly #beginnings = new Map<string, Beginning>();
  /** Whether the last flush filled no group because an event was waiting: that is not done twice in a row. */
  #isPassedOver = false;

  constructor(groups: LiveGroups, classes: LiveClasses, stagesPrepared: boolean) {
    this.#groups = groups;
    this.#classes = classes;
    this.#stagesPrepared = stagesPrepared;
  }

  /** Prepares these requests for policies, or for pods, from now on, and no others of that kind. */
  request(of: PreparationRequest['of'], requests: Iterable<PreparationRequest>): void {
    const others = [...this.#wanted.values()].filter(request => request.of !== of);
    this.#wanted = new Map([...others, ...requests].map(request => [request.key, request]));
  }

  isReady(request: PreparationRequest): boolean {
    const preparation = this.#preparations.get(request.key);
    return preparation !== undefined && this.#isOf(preparation, request) && isDone(preparation);
  }

  /** Whether something is left to prepare. */
  get isBehind(): boolean {
    return (
      this.#wanted.size !== this.#preparations.size ||
      [...this.#wanted.values()].some(request => !this.isReady(request))
    );
  }

  /**
   * Continues the preparations. New groups may look at as many pods as the budget allows; while an event waits, long
   * work is limited to a moment.
   */
  *advance(budget: WorkBudget): Pieces<void> {
    if (this.#wanted.size + this.#preparations.size + this.#beginnings.size === 0) return;
    yield* this.#beginSome(budget);
    for (const preparation of this.#preparations.values())
      if (!this.#wanted.has(preparation.request.key)) this.#end(preparation);
    this.#isPassedOver = budget.hasWaitingEvents() && !this.#isPassedOver;
    if (!this.#isPassedOver) yield* this.#fill(budget);
  }

  /** Compiling the classes of a change may take long: other requests then begin in later flushes. */
  *#beginSome({ hasWaitingEvents, moment }: WorkBudget): Pieces<void> {
    this.#beginWanted();
    if (this.#beginnings.size === 0) return;
    const isBrief = moment();
    let begun = 0;
    for (const beginning of [...this.#beginnings.values()]) {
      for (let piece = beginning.pieces.next(); ; piece = beginning.pieces.next()) {
        if (piece.done) {
          this.#begun(piece.value);
          break;
        }
        if (hasWaitingEvents() && !isBrief()) {
          // A request that takes hundreds of pieces does not keep others waiting.
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

  /** A new version of a policy is a new request, which comes behind all others. */
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
    // Released after the new one has its groups, so that groups of both are kept.
    if (before !== undefined) this.#end(before);
    this.#preparations.set(key, preparation);
  }

  /** Whether the preparation is for exactly this version, and its inputs have not changed. */
  #isOf({ request, inputs, tries }: Preparation, now: PreparationRequest): boolean {
    if (!isVersionOf(request, now)) return false;
    if (tries >= MOST_TRIES) return true;
    const current = now.inputs();
    return current.size === inputs.size && [...current].every(part => inputs.has(part));
  }

  /**
   * Uses the groups that exist already from now on, because the former version of the policy may be deleted meanwhile.
   */
  *#begin(request: PreparationRequest, before: Preparation | undefined): Pieces<Preparation> {
    const tries = before !== undefined && isVersionOf(before.request, request) ? before.tries + 1 : 1;
    const inputs = request.inputs();
    const targetClasses = yield* request.targetClasses();
    yield;
    const builders = yield* this.#build(targetClasses);
    const unstaged = this.#stagesPrepared ? [...targetClasses] : [];
    const preparation: Preparation = {
      request,
      inputs,
      targetClasses,
      unstaged,
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

  /** Compiles all of the classes; returns none if another version is requested meanwhile. */
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

  /**
   * Fills one group of each preparation in turn. The next flush goes on with the preparation whose last turn is longest
   * ago.
   */
  *#fill(budget: WorkBudget): Pieces<void> {
    let asked = 0;
    for (let behind = [...this.#preparations.values()]; behind.length > 0; ) {
      behind = behind.filter(preparation => this.#mayGoOn(preparation));
      for (const preparation of behind) {
        const { request } = preparation;
        asked += this.#goOn(preparation);
        this.#preparations.delete(request.key);
        this.#preparations.set(request.key, preparation); // moves it behind all others
        yield;
        if (asked >= budget.most()) return;
      }
    }
  }

  /** Fills a group, or stages a class if all groups are filled. Returns the cost, in pods that were looked at. */
  #goOn(preparation: Preparation): number {
    const need = preparation.missing.pop();
    return need === undefined
      ? this.#classes.stage(preparation.unstaged.pop()!)
      : Math.max(LEAST_ASKED, this.#hold(need, preparation));
  }

  #hold(need: Need, preparation: Preparation): number {
    preparation.held.push(need);
    const asked = Math.max(...need.families.map(family => this.#groups.acquire(need.group, family)));
    if (asked > 0) preparation.filled += this.#groups.membersOf(need.group);
    return asked;
  }

  /**
   * If the quota has no room, the preparation counts as done, and the policy is refused when it is applied, unless the
   * request waits for room.
   */
  #mayGoOn(preparation: Preparation): boolean {
    const { request, missing, unstaged } = preparation;
    if (missing.length === 0 || this.#hasRoom(preparation)) return !isDone(preparation);
    if (!this.#wanted.get(request.key)?.waitsForRoom) missing.length = unstaged.length = 0;
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

function isDone({ missing, unstaged }: Preparation): boolean {
  return missing.length === 0 && unstaged.length === 0;
}

function isVersionOf(request: PreparationRequest, other: PreparationRequest | undefined): boolean {
  return other !== undefined && other.version === request.version;
}

// The groups of compiled classes that are in no table yet.

/** A group, and the table that will look it up. */
interface Need {
  readonly group: NamedGroup;
  readonly families: readonly Family[];
}

/** The groups that the classes need, each once. */
function needsOf(builders: readonly ClassBuilder[]): Need[] {
  // Many classes share a part.
  const distinct = new Set<Builder>(
    builders.flatMap(builder => [builder, ...[...builder.shared].map(({ made }) => made)]),
  );
  const uses = [...distinct].flatMap(({ family, groups }) =>
    [...groups.values()].map(group => ({ group, family })),
  );
  const ofPods = uses.filter(({ group }) => group.group.kind !== 'names'); // groups of names are filled by DNS answers
  const byName = Map.groupBy(ofPods, ({ group }) => group.name).values();
  return [...byName].map(its => ({
    group: its[0]!.group,
    families: [...new Set(its.map(({ family }) => family))],
  }));
}

/** How many pods and namespaces are looked at for the peers of these rules; stops counting at `most`. */
export function countPeersLookedAt(rules: Iterable<Rule>, podIndex: PodIndex, most: number): number {
  let asked = 0;
  for (const { peers } of rules)
    for (const peer of peers === 'any' ? [] : peers)
      if (peer.kind === 'pods') asked += podIndex.countLookedAt(peer.selector, most - asked);
  return asked;
}
