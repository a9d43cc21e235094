/** In which classes the local pods are, kept equal to the cluster one pod and one change of policies at a time. */
import type { Cluster, PodKey } from '../../model/cluster.ts';
import { getOrMake } from '../../model/getormake.ts';
import type { Pieces } from '../../model/pieces.ts';
import { comparePolicies, type Direction, type Policy, type PolicyId } from '../../model/policy.ts';
import { classOf, type PodClass } from '../classes.ts';
import type { Placement } from '../compile.ts';
import { className } from '../program.ts';
import type { LiveClasses } from './classes.ts';
import type { IndexedPod } from './podindex.ts';
import { type PolicyMove, PolicyMoves } from './policymoves.ts';
import { SelectorIndex } from './selectorindex.ts';

const DIRECTIONS = ['egress', 'ingress'] as const;

export class LivePlacements {
  readonly #cluster: Cluster;
  readonly #classes: LiveClasses;
  readonly #subjects = new SelectorIndex<Policy>();
  /** As they were taken in. */
  readonly #policies = new Map<PolicyId, Policy>();
  readonly #placements = new Map<PodKey, readonly Placement[]>();

  constructor(cluster: Cluster, classes: LiveClasses) {
    this.#cluster = cluster;
    this.#classes = classes;
  }

  all(): Placement[] {
    return [...this.#placements.values()].flat();
  }

  /** Takes in what these policies are now; where each pod belongs is for `place` and `move` to say. */
  changePolicies(ids: Iterable<PolicyId>): PolicyMoves {
    return new PolicyMoves([...ids].map(id => this.#changePolicy(id)));
  }

  #changePolicy(id: PolicyId): PolicyMove {
    const [before, after] = [this.#policies.get(id), this.#cluster.policies.get(id)];
    if (before !== undefined) {
      this.#subjects.delete(before.subject, before);
      this.#policies.delete(id);
    }
    if (after !== undefined) {
      this.#subjects.add(after.subject, after);
      this.#policies.set(id, after);
    }
    return { id, before, after };
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
    const before = this.#placements.get(pod.key) ?? [];
    const classIn = (direction: Direction) =>
      before.find(({ podClass }) => podClass.direction === direction)?.podClass;
    const placements = DIRECTIONS.map(direction =>
      placementIn(indexedPod, moves.classOf(pod, its, classIn(direction), direction)),
    );
    yield* this.#put(pod.key, placements.flat());
    return true;
  }

  #placementsOf(indexedPod: IndexedPod): Placement[] {
    const { pod, namespace } = indexedPod;
    const candidates = [...this.#subjects.candidates(pod, namespace)].sort(comparePolicies);
    return DIRECTIONS.flatMap(direction =>
      placementIn(indexedPod, classOf(pod, namespace, candidates, direction)),
    );
  }

  /** Joins come first, so that what both share stays alive. */
  *#put(key: PodKey, placements: readonly Placement[]): Pieces<void> {
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

const chains = new WeakMap<PodClass, string>();

function placementIn(indexedPod: IndexedPod, podClass: PodClass | undefined): Placement[] {
  if (podClass === undefined) return [];
  return [{ indexedPod, podClass, chain: getOrMake(chains, podClass, () => className(podClass)) }];
}
