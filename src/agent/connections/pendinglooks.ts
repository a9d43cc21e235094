/**
 * Whose connections are still to be looked at. A look at few addresses takes the kernel milliseconds, one at many a walk
 * over all that it tracks: the few do not wait for the many, and where both come all the time they take turns.
 */
import { type AffectedAddresses, merge } from './tightening.ts';

/** What the kernel is asked for by address, in a dump of each. */
const FEW = 4;

export class PendingLooks {
  #few: AffectedAddresses = 'nobody';
  #many: AffectedAddresses = 'nobody';
  #fewLast = false;

  get isEmpty(): boolean {
    return this.#few === 'nobody' && this.#many === 'nobody';
  }

  /** Whether somebody is to be looked at who need not wait. */
  get isUrgent(): boolean {
    return this.#few !== 'nobody';
  }

  add(affected: AffectedAddresses): void {
    if (affected === 'nobody') return;
    if (affected !== 'everybody' && affected.size <= FEW) this.#few = merge(this.#few, affected);
    else this.#many = merge(this.#many, affected);
  }

  /** The next look. */
  take(): AffectedAddresses {
    this.#fewLast = this.#few !== 'nobody' && (this.#many === 'nobody' || !this.#fewLast);
    const next = this.#fewLast ? this.#few : this.#many;
    if (this.#fewLast) this.#few = 'nobody';
    else this.#many = 'nobody';
    return next;
  }

  clear(): void {
    this.#few = this.#many = 'nobody';
  }
}
