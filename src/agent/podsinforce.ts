/**
 * What the rules in force were made from, where that is not what the cluster has: each pod with a change that is not in
 * force yet, as it was before, or nothing where the rules know none.
 *
 *     note ─▶ noted ──take──▶ taken ──committed──▶ in force
 *                               └── those that wait for another flush are as the engine has them
 */
import type { Cluster, Pod, PodKey } from '../model/cluster.ts';
import type { PodInForce } from './engine.ts';

export class PodsInForce {
  readonly #taken = new Map<PodKey, Pod | undefined>();
  /** Of what came since the last flush began. */
  #noted = new Map<PodKey, Pod | undefined>();
  /** As of the last commit. */
  #waiting: ReadonlyMap<PodKey, PodInForce | undefined> = new Map();

  /** It changes, and until now the cluster has had this of it. */
  note(key: PodKey, before: Pod | undefined): void {
    if (!this.#noted.has(key)) this.#noted.set(key, before);
  }

  /** A flush begins. */
  take(): void {
    // Whoever has been taken and is not in force yet is in force as it was before that.
    for (const [key, before] of this.#noted) if (!this.#taken.has(key)) this.#taken.set(key, before);
    this.#noted = new Map();
  }

  /** What was taken is in force, but for these. */
  committed(waiting: ReadonlyMap<PodKey, PodInForce | undefined>): void {
    this.#taken.clear();
    this.#waiting = waiting;
  }

  /** Where `cluster` has another namespace than the rules, the pod has that. */
  pods({ namespaces }: Cluster): ReadonlyMap<PodKey, Pod | undefined> {
    const waiting = [...this.#waiting].map(([key, inForce]) => [key, podIn(inForce, namespaces)] as const);
    return new Map([...this.#noted, ...this.#taken, ...waiting]);
  }
}

function podIn(inForce: PodInForce | undefined, namespaces: Cluster['namespaces']): Pod | undefined {
  if (inForce === undefined) return undefined;
  const { pod, namespace } = inForce;
  return namespaces.get(pod.namespace) === namespace ? pod : { ...pod, namespaceBefore: namespace };
}
