/**
 * The latest denials, one for each connection attempt: what is sent again is counted with the first. Bounded, whoever
 * fills it, and shared: who is denied most loses his oldest first.
 */

import { QuotaList } from '../../lib/fairness/quota.ts';
import type { DeniedAttempt } from './attempt.ts';
import type { Denial } from './denial.ts';
import type { NamedDenial } from './name.ts';

/** What is recorded at most. */
const MOST_DENIALS = 1_024;
/** TCP sends a SYN again after 1, 3, 7, 15, 31 and 63 s, whatever its sender is. */
const SAME_ATTEMPT_MS = 70_000;
/** What goes on with the same ports for longer is told of anew. */
const LONGEST_ATTEMPT_MS = 600_000;

type Follower = (denial: Denial) => void;

interface Recorded {
  denial: Denial;
  readonly key: string;
}

export class Journal {
  /** By their keys. */
  readonly #attempts = new Map<string, Recorded>();
  readonly #recorded: QuotaList<Recorded>;
  readonly #followers = new Set<Follower>();
  #number = 0;

  constructor(most = MOST_DENIALS) {
    this.#recorded = new QuotaList(most);
  }

  /** How many attempts there were since the start, kept or not. */
  get total(): number {
    return this.#number;
  }

  /** Whether the packet belongs to an attempt that is known: then it is counted there, and needs no name. */
  counted({ key }: DeniedAttempt, atMs: number): boolean {
    const known = this.#attempts.get(key);
    if (known === undefined) return false;
    const { denial } = known;
    if (!isWithin(SAME_ATTEMPT_MS, denial.lastMs, atMs) || !isWithin(LONGEST_ATTEMPT_MS, denial.atMs, atMs))
      return false;
    known.denial = { ...denial, lastMs: Math.max(atMs, denial.lastMs), times: denial.times + 1 };
    return true;
  }

  add(attempt: DeniedAttempt, named: NamedDenial, atMs: number): Denial {
    const denial: Denial = { number: ++this.#number, atMs, lastMs: atMs, times: 1, ...named };
    const recorded: Recorded = { denial, key: attempt.key };
    this.#attempts.set(attempt.key, recorded);
    const gone = this.#recorded.add(recorded, attempt);
    if (gone !== undefined && this.#attempts.get(gone.key) === gone) this.#attempts.delete(gone.key);
    for (const follow of this.#followers) follow(denial);
    return denial;
  }

  /** The oldest first. */
  denials(): Denial[] {
    const denials = [...this.#recorded.all()].map(({ denial }) => denial);
    return denials.sort((a, b) => a.number - b.number);
  }

  /** Tells of every denial from now on; the answer ends it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}

/** Clocks are set back, too: what was long ago then is no part of what is now. */
function isWithin(ms: number, then: number, now: number): boolean {
  return Math.abs(now - then) <= ms;
}
