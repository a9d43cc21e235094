/**
 * Features that this node's kernel lacks: logged once, however often its socket is opened, and kept for `sluice
 * status`.
 */
import type { MissingFeature } from '../nft/missingfeature.ts';
import type { Log } from './log.ts';

export class KernelFeatures {
  readonly release: string;
  readonly #log: Pick<Log, 'warn'>;
  readonly #missingFeatures = new Set<MissingFeature>();

  /** `release` is that of the kernel: `6.1.0-50-amd64`. */
  constructor(release: string, log: Pick<Log, 'warn'>) {
    this.release = release;
    this.#log = log;
  }

  /** Answers the kernel that was opened. */
  opened<T extends { readonly missingFeatures: readonly MissingFeature[] }>(kernel: T): T {
    for (const feature of kernel.missingFeatures) this.#note(feature);
    return kernel;
  }

  get missingFeatures(): readonly MissingFeature[] {
    return [...this.#missingFeatures];
  }

  #note(feature: MissingFeature): void {
    if (this.#missingFeatures.has(feature)) return;
    this.#missingFeatures.add(feature);
    const { lacks, since, instead } = feature;
    this.#log.warn({ lacks, since }, `Linux ${this.release} has no ${lacks}, since ${since}: ${instead}`);
  }
}
