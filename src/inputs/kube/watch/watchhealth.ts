import { errorText } from '../../../lib/text/errortext.ts';
import type { SourceStatus } from './clusterfeed.ts';

/** Makes of every cut and return the few that are worth a word: a cut that the next try mends is none. */
export class WatchHealth {
  readonly #source: string;
  readonly #report: (status: SourceStatus) => void;
  /** Why it is lost, as it was told; undefined while it is not. */
  #told: string | undefined;
  /** Why the last try failed. */
  #last: string | undefined;
  #wasSynced = false;

  constructor(source: string, report: (status: SourceStatus) => void) {
    this.#source = source;
    this.#report = report;
  }

  /** The reason stands where a try to watch again has failed. */
  set(isWatching: boolean, reason?: unknown): void {
    if (isWatching) this.#watching();
    else if (reason !== undefined) this.#failed(errorText(reason));
  }

  #watching(): void {
    if (!this.#wasSynced) this.#report({ source: this.#source, state: 'synced' });
    else if (this.#told !== undefined) this.#report({ source: this.#source, state: 'recovered' });
    this.#wasSynced = true;
    this.#told = undefined;
    this.#last = undefined;
  }

  /** Another reason is told when it is that of two tries: some sentences are never the same twice. */
  #failed(reason: string): void {
    const isNews = this.#told === undefined || (reason !== this.#told && reason === this.#last);
    this.#last = reason;
    if (!isNews) return;
    this.#told = reason;
    this.#report({ source: this.#source, state: 'lost', reason });
  }
}
