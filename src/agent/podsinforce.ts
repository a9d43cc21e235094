/**
 * What the rules in force were made from, where that is not what the cluster has: each pod with a change that is not in
 * force yet, as it was before, or nothing where the rules know none.
 *
 *     note ─▶ noted ──take──▶ taken ──committed──▶ in force
 *                               └── those that wait for another flush stay
 */
import type { Pod, PodKey } from '../model/cluster.ts';

export class PodsInForce {
  readonly #taken = new Map<PodKey, Pod | undefined>();
  /** Of what came since the last flush began. */
  #noted = new Map<PodKey, Pod | undefined>();

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
  committed(waiting: ReadonlySet<PodKey>): void {
    for (const key of this.#taken.keys()) if (!waiting.has(key)) this.#taken.delete(key);
  }

  pods(): ReadonlyMap<PodKey, Pod | undefined> {
    return new Map([...this.#noted, ...this.#taken]);
  }
}
