/** Since when the cluster cannot be read, as its pods tell, which no agent does without. */
import { PODS } from '../../inputs/kube/watch/resource.ts';
import type { SourceStatus } from '../../inputs/kube/watch/source.ts';

export class Readability {
  /** When it was read last, as far as anybody knows; it still can be where that is 'now'. */
  #readAtMs: number | 'now' | 'never' = 'never';

  onSource({ source, state }: SourceStatus, nowMs: number): void {
    if (source !== PODS.kind) return;
    if (state === 'synced' || state === 'recovered') this.#readAtMs = 'now';
    else if (this.#readAtMs === 'now') this.#readAtMs = nowMs;
  }

  /** Whether it was read within so many milliseconds. */
  wasReadWithin(ms: number, nowMs: number): boolean {
    if (typeof this.#readAtMs === 'string') return this.#readAtMs === 'now';
    return nowMs - this.#readAtMs <= ms;
  }
}
