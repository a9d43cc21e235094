/** In which classes the local pods are, kept equal to the cluster one pod and one change of policies at a time. */

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

/** Pods of which one piece finds out where they will be. */
const MOST_AT_A_TIME = 8;

export class LivePlacements {
  readonly #cluster: Cluster;
  readonly #classes: LiveClasses;
  readonly #subjects = new SelectorIndex<Policy>();
  /** As they were taken in. */
  readonly #policies = new Map<PolicyId, Policy>();
  /** Of those, the ones that await their allowances. */
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

  /** Another one where pods are in other classes, or may belong into others. */
  get version(): number {
    return this.#version;
  }

  /** Takes in what these policies are now; where each pod belongs is for `place` and `move` to say. */
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

  /** As it was taken in. */
  policy(id: PolicyId): Policy | undefined {
    return this.#policies.get(id);
  }

  /** The classes of these pods that changes of policies are about. */
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

  /** The classes that these pods would join by them. */
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

  /** Puts a pod, of which anything may have changed, where it belongs; out of all classes where it is no local one. */
  *place(key: PodKey, indexedPod: IndexedPod | undefined): Pieces<void> {
    yield* this.#put(key, indexedPod === undefined ? [] : this.#placementsOf(indexedPod));
  }

  /** Moves a pod, of which nothing has changed itself; answers whether it had to. */
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

  /** The classes where it belongs. */
  classesOf({ pod, namespace }: KnownPod): PodClass[] {
    const candidates = [...this.#subjects.candidates(pod, namespace)].sort(comparePolicies);
    return DIRECTIONS.flatMap(direction => classOf(pod, namespace, candidates, direction) ?? []);
  }

  /** Joins come first, so that what both share stays alive. */
  *#put(key: PodKey, placements: readonly Placement[]): Pieces<void> {
    this.#version++;
    const before = this.#placements.get(key) ?? [];
    const after: Placement[] = [];
    for (const placement of placements) {
      // One object for all pods of the class: they move together.
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

/** A change that is about a pod, with what the policy is to it now: itself, closed where nobody knows, or nothing. */
interface Move {
  readonly change: PolicyMove;
  readonly member: Policy | undefined;
}

/** Policies in force that await their allowances (classes.ts), as they are in a class of the pod. */
export type Awaiting = (pod: Pod, namespace: Namespace, direction: Direction) => readonly Policy[];

/** What stays of a class, whoever joins it. */
interface Staying {
  policies(): readonly Policy[];
  /** One of them isolates, so that those who await allowances say nothing. */
  readonly isIsolated: boolean;
  /** One did, so that those are no part of the class. */
  readonly wasIsolated: boolean;
}

/**
 * What changes of policies make of the classes of the pods that they select. Pods of one class mostly move to one class:
 * it is made once for all of them, so that an edit costs what the classes cost that it reaches, and not pods times
 * policies.
 */
export class PolicyMoves {
  readonly #changes: readonly PolicyMove[];
  readonly #awaiting: Awaiting;
  readonly #staying = new Map<PodClass, Staying>();
  readonly ids: ReadonlySet<PolicyId>;
  /** By the class that a pod leaves, and what is told of the pod's moves. */
  readonly #made = new Map<PodClass | Direction, Map<string, PodClass | undefined>>();

  constructor(changes: readonly PolicyMove[], awaiting: Awaiting) {
    this.#changes = changes;
    this.#awaiting = awaiting;
    this.ids = new Set(changes.map(({ id }) => id));
  }

  /** The changes that are about the pod; none where it stays where it is. */
  of(pod: Pod, namespace: Namespace): readonly Move[] {
    const isAbout = (policy: Policy | undefined) =>
      policy !== undefined && subjectSelects(policy, pod, namespace) !== 'no';
    return this.#changes.flatMap((change): Move[] => {
      const { before, after } = change;
      const member = isAbout(after) ? memberOf(after!, subjectSelects(after!, pod, namespace)) : undefined;
      return member !== undefined || isAbout(before) ? [{ change, member }] : [];
    });
  }

  /** The class to which a pod moves from `before`, by its moves. */
  classOf(
    { pod, namespace }: KnownPod,
    moves: readonly Move[],
    before: PodClass | undefined,
    direction: Direction,
  ): PodClass | undefined {
    const staying = before === undefined ? NOBODY : getOrMake(this.#staying, before, () => this.#of(before));
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

  #of({ policies }: PodClass): Staying {
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

/** Of each class the last one that pods would move to from there: what was made ready of a change is what it makes. */
const lastMade = new WeakMap<PodClass, { readonly told: string; readonly made: PodClass | undefined }>();

function madeOf(before: PodClass, told: string, make: () => PodClass | undefined): PodClass | undefined {
  const last = lastMade.get(before);
  if (last?.told === told) return last.made;
  const made = make();
  lastMade.set(before, { told, made });
  return made;
}

const NOBODY: Staying = { policies: () => [], isIsolated: false, wasIsolated: false };

/** What becomes of which policy: another one for another version. */
function numberOf({ change: { before, after } }: Move): string {
  return after === undefined ? `-${factsOf(before!).number}` : `${factsOf(after).number}`;
}
