import { reasonOf } from '../client/apierror.ts';
import type { SourceStatus } from './clusterfeed.ts';

/** Makes of every cut and return the few that are worth a word: a cut that the next try mends is none. */
export class WatchHealth {
  readonly #source: string;
  readonly #tell: (status: SourceStatus) => void;
  #isLost = false;
  #wasSynced = false;

  constructor(source: string, tell: (status: SourceStatus) => void) {
    this.#source = source;
    this.#tell = tell;
  }

  /** The reason stands where a try to get the flow back has failed. */
  set(isFlowing: boolean, reason?: unknown): void {
    if (isFlowing) this.#flows();
    else if (reason !== undefined && !this.#isLost) this.#lost(reason);
  }

  #flows(): void {
    if (!this.#wasSynced) this.#tell({ source: this.#source, state: 'synced' });
    else if (this.#isLost) this.#tell({ source: this.#source, state: 'recovered' });
    this.#wasSynced = true;
    this.#isLost = false;
  }

  #lost(reason: unknown): void {
    this.#isLost = true;
    this.#tell({ source: this.#source, state: 'lost', reason: reasonOf(reason) });
  }
}
