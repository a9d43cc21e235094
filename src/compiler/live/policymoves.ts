/**
 * What changes of policies make of the classes of the pods that they select. Pods of one class mostly move to one class:
 * it is made once for all of them, so that an edit costs what the classes cost that it reaches, and not pods times
 * policies.
 */
import type { Namespace, Pod } from '../../model/cluster.ts';
import { getOrMake } from '../../model/getormake.ts';
import { comparePolicies, type Direction, type Policy, type PolicyId } from '../../model/policy.ts';
import { makeClass, memberOf, type PodClass, portsOn, subjectSelects } from '../classes.ts';

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

export class PolicyMoves {
  readonly #changes: readonly PolicyMove[];
  readonly ids: ReadonlySet<PolicyId>;
  /** By the class that a pod leaves, and what is told of the pod's moves. */
  readonly #made = new Map<PodClass | Direction, Map<string, PodClass | undefined>>();

  constructor(changes: readonly PolicyMove[]) {
    this.#changes = changes;
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
    pod: Pod,
    moves: readonly Move[],
    before: PodClass | undefined,
    direction: Direction,
  ): PodClass | undefined {
    const inDirection = moves.filter(({ change }) => change.after?.[direction] !== undefined);
    const joined = inDirection.flatMap(({ member }) => member ?? []);
    const told = JSON.stringify([
      joined.map(({ id, unsure }) => [id, unsure]),
      portsOn(pod, joined, direction),
    ]);
    const fromHere = getOrMake(this.#made, before ?? direction, () => new Map());
    if (!fromHere.has(told)) fromHere.set(told, this.#make(pod, joined, before, direction));
    return fromHere.get(told);
  }

  #make(
    pod: Pod,
    joined: readonly Policy[],
    before: PodClass | undefined,
    direction: Direction,
  ): PodClass | undefined {
    const staying = before?.policies.filter(({ id }) => !this.ids.has(id)) ?? [];
    const policies = [...staying, ...joined].sort(comparePolicies);
    return policies.length === 0 ? undefined : makeClass(pod, direction, policies);
  }
}
