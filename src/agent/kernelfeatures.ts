/** What this node's kernel lacks: told once in the log, however often it is opened, and kept for `sluice status`. */
import type { Shortfall } from '../nft/shortfall.ts';
import type { Log } from './agent.ts';

export class KernelFeatures {
  readonly release: string;
  readonly #log: Pick<Log, 'warn'>;
  readonly #shortfalls = new Set<Shortfall>();

  /** `release` is that of the kernel: `6.1.0-50-amd64`. */
  constructor(release: string, log: Pick<Log, 'warn'>) {
    this.release = release;
    this.#log = log;
  }

  /** Answers what it was told of. */
  opened<T extends { readonly shortfalls: readonly Shortfall[] }>(kernel: T): T {
    for (const shortfall of kernel.shortfalls) this.#note(shortfall);
    return kernel;
  }

  get shortfalls(): readonly Shortfall[] {
    return [...this.#shortfalls];
  }

  #note(shortfall: Shortfall): void {
    if (this.#shortfalls.has(shortfall)) return;
    this.#shortfalls.add(shortfall);
    const { lacks, since, instead } = shortfall;
    this.#log.warn({ lacks, since }, `Linux ${this.release} has no ${lacks}, since ${since}: ${instead}`);
  }
}
