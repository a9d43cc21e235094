/** Says what is lost, at once and then once a second at most: a flood that loses connections would else fill the terminal. */
import { writeNote } from '../../terminal/output.ts';
import { plural } from '../../terminal/plural.ts';

const EVERY_MS = 1_000;

export class LostNotes {
  #lost = 0;
  #skipped = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `lost`: not read by the agent in time. `skipped`: not by us. */
  take(lost: number, skipped: number): void {
    this.#lost += lost;
    this.#skipped += skipped;
    if (this.#timer === undefined && this.#lost + this.#skipped > 0) this.say();
  }

  /** What has not been said yet. */
  say(): void {
    const [lost, skipped] = [this.#lost, this.#skipped];
    [this.#lost, this.#skipped] = [0, 0];
    clearTimeout(this.#timer);
    this.#timer = lost + skipped === 0 ? undefined : setTimeout(() => this.say(), EVERY_MS).unref();
    if (lost > 0) writeNote(`${plural(lost, 'new connection')} lost: they came faster than the agent reads`);
    if (skipped > 0) writeNote(`${plural(skipped, 'connection')} came faster than they were shown`);
  }
}
