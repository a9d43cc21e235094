/** The classes that the local pods are in, updated with each pod and each change of policies. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Pieces } from '../../lib/collections/pieces.ts';
import type { Cluster, Namespace, Pod, PodKey } from '../../model/cluster.ts';
import { comparePolicies, type Direction, type Policy, type PolicyId } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import {
  awaitsRules,
  classOf,
  classOfMembers,
  isolates,
  memberOf,
  membersAmong,
  type PodClass,
  portsOn,
  subjectSelects,
} from '../classes.ts';
import type { Placement } from '../compile.ts';
import { factsOf } from '../policyfacts.ts';
import { className } from '../program.ts';
import type { LiveClasses } from './classes.ts';
import { SelectorIndex } from './groups/selectorindex.ts';
import type { IndexedPod, KnownPod } from './pods/podindex.ts';

const DIRECTIONS = ['egress', 'ingress'] as const;

/** For how many pods a piece finds the classes that a change would move them to. */
const MOST_AT_A_TIME = 8;

export class LivePlacements {
  readonly #cluster: Cluster;
  readonly #classes: LiveClasses;
  readonly #subjects = new SelectorIndex<Policy>();
  /** The policies as they were applied last. */
  readonly #policies = new Map<PolicyId, Policy>();
  /** The policies that only isolate until their rules are prepared. */
  readonly #awaiting = new Set<Policy>();
  readonly #placements = new Map<PodKey, readonly Placement[]>();
  #version = 0;

  constructor(cluster: Cluster, classes: LiveClasses) {
    this.#cluster = cluster;
    this.#classes = classes;
  }

  all(): Placement[] {
    return [...this.#placements.values()].flat();
  }

  /** Changes whenever a pod has another class, or might have one. */
  get version(): number {
    return this.#version;
  }

  /** Applies the latest versions of these policies. `place` and `move` then move the pods. */
  changePolicies(ids: Iterable<PolicyId>): PolicyMoves {
    return this.#moves([...ids].map(id => this.#changePolicy(id)));
  }

  #changePolicy(id: PolicyId): PolicyMove {
    this.#version++;
    const [before, after] = [this.#policies.get(id), this.#cluster.policies.get(id)];
    if (before !== undefined) {
      this.#subjects.delete(before.subject, before);
      this.#policies.delete(id);
      this.#awaiting.delete(before);
    }
    if (after !== undefined) {
      this.#subjects.add(after.subject, after);
      this.#policies.set(id, after);
      if (awaitsRules(after)) this.#awaiting.add(after);
    }
    return { id, before, after };
  }

  #moves(changes: readonly PolicyMove[]): PolicyMoves {
    return new PolicyMoves(changes, (pod, namespace, direction) =>
      membersAmong(this.#awaiting, pod, namespace, direction),
    );
  }

  /** The policy as it was applied last. */
  policy(id: PolicyId): Policy | undefined {
    return this.#policies.get(id);
  }

  /** The classes of these pods that the changes affect. */
  currentClasses(changes: readonly PolicyChange[], pods: Iterable<IndexedPod>): Set<PodClass> {
    const versions = changes
      .flatMap(({ id, value }) => [this.#policies.get(id), value])
      .filter(version => version !== undefined);
    const currentClasses = new Set<PodClass>();
    for (const { pod, namespace } of pods) {
      for (const direction of DIRECTIONS) {
        const podClass = this.#classIn(pod.key, direction);
        const isAbout = (version: Policy) =>
          version[direction] !== undefined && subjectSelects(version, pod, namespace) !== 'no';
        if (podClass !== undefined && !currentClasses.has(podClass) && versions.some(isAbout))
          currentClasses.add(podClass);
      }
    }
    return currentClasses;
  }

  /** The classes that these pods would join after the changes. */
  *targetClasses(changes: readonly PolicyChange[], pods: Iterable<IndexedPod>): Pieces<PodClass[]> {
    const moves = this.#moves(
      changes.map(({ id, value }) => ({ id, before: this.#policies.get(id), after: value })),
    );
    const targetClasses = new Map<string, PodClass>();
    let moved = 0;
    for (const indexedPod of [...pods]) {
      const { pod, namespace } = indexedPod;
      const its = moves.of(pod, namespace);
      if (its.length === 0) continue;
      if (moved++ % MOST_AT_A_TIME === 0) yield;
      for (const direction of DIRECTIONS) {
        const from = this.#classIn(pod.key, direction);
        const to = moves.classOf(indexedPod, its, from, direction);
        if (to !== undefined && to !== from) targetClasses.set(className(to), to);
      }
    }
    return [...targetClasses.values()];
  }

  /** The classes that a pod is in. */
  classesIn(pod: PodKey): PodClass[] {
    return (this.#placements.get(pod) ?? []).map(({ podClass }) => podClass);
  }

  #classIn(pod: PodKey, direction: Direction): PodClass | undefined {
    return this.#placements.get(pod)?.find(({ podClass }) => podClass.direction === direction)?.podClass;
  }

  /** Puts a pod, of which anything may have changed, into its classes; a pod that is not local leaves all classes. */
  *place(key: PodKey, indexedPod: IndexedPod | undefined): Pieces<void> {
    yield* this.#put(key, indexedPod === undefined ? [] : this.#placementsOf(indexedPod));
  }

  /** Moves a pod that has not changed itself. Returns whether it has another class now. */
  *move(indexedPod: IndexedPod, moves: PolicyMoves): Pieces<boolean> {
    const { pod, namespace } = indexedPod;
    const its = moves.of(pod, namespace);
    if (its.length === 0) return false;
    const placements = DIRECTIONS.map(direction =>
      placementIn(indexedPod, moves.classOf(indexedPod, its, this.#classIn(pod.key, direction), direction)),
    );
    yield* this.#put(pod.key, placements.flat());
    return true;
  }

  #placementsOf(indexedPod: IndexedPod): Placement[] {
    return this.classesOf(indexedPod).flatMap(podClass => placementIn(indexedPod, podClass));
  }

  /** The classes to which the pod belongs. */
  classesOf({ pod, namespace }: KnownPod): PodClass[] {
    const candidates = [...this.#subjects.candidates(pod, namespace)].sort(comparePolicies);
    return DIRECTIONS.flatMap(direction => classOf(pod, namespace, candidates, direction) ?? []);
  }

  /** The pod joins its new classes before it leaves others, so that objects that both need are kept. */
  *#put(key: PodKey, placements: readonly Placement[]): Pieces<void> {
    this.#version++;
    const before = this.#placements.get(key) ?? [];
    const after: Placement[] = [];
    for (const placement of placements) {
      // All pods of a class share one object, so that they move together.
      const podClass = yield* this.#classes.join(placement.chain, placement.podClass, key);
      after.push({ ...placement, podClass });
    }
    for (const { chain } of before) {
      if (!after.some(other => other.chain === chain)) this.#classes.leave(chain, key);
    }
    if (after.length > 0) this.#placements.set(key, after);
    else this.#placements.delete(key);
    yield;
  }
}

function placementIn(indexedPod: IndexedPod, podClass: PodClass | undefined): Placement[] {
  if (podClass === undefined) return [];
  return [{ indexedPod, podClass, chain: className(podClass) }];
}

export interface PolicyMove {
  readonly id: PolicyId;
  readonly before: Policy | undefined;
  readonly after: Policy | undefined;
}

/**
 * A change that affects a pod, with what the policy is in a class of the pod now: the policy itself, what
 * `effectIfUncertain` leaves of it, or undefined.
 */
interface Move {
  readonly change: PolicyMove;
  readonly member: Policy | undefined;
}

/**
 * The policies in force that only isolate until their rules are prepared (classes.ts), as they are in a class of the
 * pod.
 */
export type Awaiting = (pod: Pod, namespace: Namespace, direction: Direction) => readonly Policy[];

/** The policies of a class that the changes leave as they are. */
interface Remaining {
  policies(): readonly Policy[];
  /** Whether one of them isolates; then policies whose rules are not prepared yet have no effect. */
  readonly isIsolated: boolean;
  /** Whether one of the class's policies isolated before the changes, so that those policies are not in the class. */
  readonly wasIsolated: boolean;
}

/**
 * The classes to which pods move when policies change. Pods of one class mostly move to one class, which is made once
 * for all of them: an edit costs as much as the classes that it affects, and not pods times policies.
 */
export class PolicyMoves {
  readonly #changes: readonly PolicyMove[];
  readonly #awaiting: Awaiting;
  readonly #remaining = new Map<PodClass, Remaining>();
  readonly ids: ReadonlySet<PolicyId>;
  /** Classes by the class that a pod leaves and by a key of the pod's moves. */
  readonly #made = new Map<PodClass | Direction, Map<string, PodClass | undefined>>();

  constructor(changes: readonly PolicyMove[], awaiting: Awaiting) {
    this.#changes = changes;
    this.#awaiting = awaiting;
    this.ids = new Set(changes.map(({ id }) => id));
  }

  /** The changes that affect the pod; empty if it stays in its classes. */
  of(pod: Pod, namespace: Namespace): readonly Move[] {
    const isAbout = (policy: Policy | undefined) =>
      policy !== undefined && subjectSelects(policy, pod, namespace) !== 'no';
    return this.#changes.flatMap((change): Move[] => {
      const { before, after } = change;
      const member = isAbout(after) ? memberOf(after!, subjectSelects(after!, pod, namespace)) : undefined;
      return member !== undefined || isAbout(before) ? [{ change, member }] : [];
    });
  }

  /** The class to which a pod moves from `before`. */
  classOf(
    { pod, namespace }: KnownPod,
    moves: readonly Move[],
    before: PodClass | undefined,
    direction: Direction,
  ): PodClass | undefined {
    const staying =
      before === undefined ? NO_POLICIES : getOrMake(this.#remaining, before, () => this.#of(before));
    const inDirection = moves.filter(({ change }) => change.after?.[direction] !== undefined);
    const moved = inDirection.flatMap(({ member }) => member ?? []);
    const joined = staying.isIsolated
      ? moved.filter(policy => !awaitsRules(policy))
      : [...moved, ...(staying.wasIsolated ? this.#othersAwaiting(pod, namespace, direction) : [])];
    if (joined.length === 0 && staying.policies().length === before?.policies.length) return before;
    const ports = JSON.stringify(portsOn(pod, joined, direction));
    const told = `${moves.map(numberOf).join()} ${joined.map(policy => factsOf(policy).number).join()} ${ports}`;
    const fromHere = getOrMake(this.#made, before ?? direction, () => new Map());
    const make = () =>
      classOfMembers(pod, direction, [...staying.policies(), ...joined].sort(comparePolicies));
    if (!fromHere.has(told)) fromHere.set(told, before === undefined ? make() : madeOf(before, told, make));
    return fromHere.get(told);
  }

  #of({ policies }: PodClass): Remaining {
    const stays = ({ id }: Policy) => !this.ids.has(id);
    return {
      policies: () => policies.filter(stays),
      isIsolated: policies.some(policy => isolates(policy) && stays(policy)),
      wasIsolated: policies.some(isolates),
    };
  }

  #othersAwaiting(pod: Pod, namespace: Namespace, direction: Direction): readonly Policy[] {
    return this.#awaiting(pod, namespace, direction).filter(({ id }) => !this.ids.has(id));
  }
}

export const NO_MOVES = new PolicyMoves([], () => []);

/**
 * For each class the last one to which pods would move from it: preparing a change and applying it then make the same
 * object.
 */
const lastMade = new WeakMap<PodClass, { readonly told: string; readonly made: PodClass | undefined }>();

function madeOf(before: PodClass, told: string, make: () => PodClass | undefined): PodClass | undefined {
  const last = lastMade.get(before);
  if (last?.told === told) return last.made;
  const made = make();
  lastMade.set(before, { told, made });
  return made;
}

const NO_POLICIES: Remaining = { policies: () => [], isIsolated: false, wasIsolated: false };

/** Tells apart changes of different policies and of different versions of a policy. */
function numberOf({ change: { before, after } }: Move): string {
  return after === undefined ? `-${factsOf(before!).number}` : `${factsOf(after).number}`;
}
