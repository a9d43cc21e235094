import { errorText } from '../../model/errortext.ts';
import type { SourceStatus } from './clusterfeed.ts';

/** Makes of every cut and return the few that are worth a word: a cut that the next try mends is none. */
export class WatchHealth {
  readonly #source: string;
  readonly #report: (status: SourceStatus) => void;
  #isLost = false;
  #wasSynced = false;

  constructor(source: string, report: (status: SourceStatus) => void) {
    this.#source = source;
    this.#report = report;
  }

  /** The reason stands where a try to watch again has failed. */
  set(isWatching: boolean, reason?: unknown): void {
    if (isWatching) this.#watching();
    else if (reason !== undefined && !this.#isLost) this.#lost(reason);
  }

  #watching(): void {
    if (!this.#wasSynced) this.#report({ source: this.#source, state: 'synced' });
    else if (this.#isLost) this.#report({ source: this.#source, state: 'recovered' });
    this.#wasSynced = true;
    this.#isLost = false;
  }

  #lost(reason: unknown): void {
    this.#isLost = true;
    this.#report({ source: this.#source, state: 'lost', reason: errorText(reason) });
  }
}
