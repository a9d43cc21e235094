/**
 * What changes of policies make of the classes of the pods that they select. Pods of one class mostly move to one class:
 * it is made once for all of them, so that an edit costs what the classes cost that it reaches, and not pods times
 * policies.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Namespace, Pod } from '../../model/cluster.ts';
import { comparePolicies, type Direction, type Policy, type PolicyId } from '../../model/policy.ts';
import {
  awaitsRules,
  classOfMembers,
  isolates,
  memberOf,
  type PodClass,
  portsOn,
  subjectSelects,
} from '../classes.ts';
import { factsOf } from '../policyfacts.ts';
import type { KnownPod } from './pods/podindex.ts';

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
