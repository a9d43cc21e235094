/**
 * The latest denials, one for each connection attempt: what is sent again is counted with the first. Bounded, whoever
 * fills it.
 */
import type { Denial } from './denial.ts';
import type { NamedDenial } from './name.ts';
import type { PacketHead } from './packethead.ts';

/** What is recorded at most. */
const MOST_DENIALS = 1_024;
/** TCP sends a SYN again after 1, 3, 7, 15, 31 and 63 s, whatever its sender is. */
const SAME_ATTEMPT_MS = 70_000;
/** What goes on with the same ports for longer is told of anew. */
const LONGEST_ATTEMPT_MS = 600_000;

type Follower = (denial: Denial) => void;

interface Attempt {
  denial: Denial;
  readonly key: string;
}

export class Journal {
  readonly #most: number;
  /** By their keys, the oldest first. */
  readonly #attempts = new Map<string, Attempt>();
  readonly #denials: Attempt[] = [];
  readonly #followers = new Set<Follower>();
  #number = 0;
  #oldest = 0;

  constructor(most = MOST_DENIALS) {
    this.#most = most;
  }

  /** How many attempts there were since the start, and how many of them are not kept any more. */
  get total(): number {
    return this.#number;
  }

  /** Whether the packet belongs to an attempt that is known: then it is counted there, and needs no name. */
  counted(head: PacketHead, atMs: number): boolean {
    const key = attemptKey(head);
    const known = this.#attempts.get(key);
    if (known === undefined) return false;
    const { denial } = known;
    if (atMs - denial.lastMs > SAME_ATTEMPT_MS || atMs - denial.atMs > LONGEST_ATTEMPT_MS) return false;
    known.denial = { ...denial, lastMs: Math.max(atMs, denial.lastMs), times: denial.times + 1 };
    return true;
  }

  add(head: PacketHead, named: NamedDenial, atMs: number): Denial {
    const denial: Denial = { number: ++this.#number, atMs, lastMs: atMs, times: 1, ...named };
    const attempt: Attempt = { denial, key: attemptKey(head) };
    this.#attempts.set(attempt.key, attempt);
    this.#denials.push(attempt);
    if (this.#denials.length - this.#oldest > this.#most) this.#forgetOldest();
    for (const follow of this.#followers) follow(denial);
    return denial;
  }

  /** The oldest first. */
  denials(): Denial[] {
    return this.#denials.slice(this.#oldest).map(({ denial }) => denial);
  }

  /** Tells of every denial from now on; the answer ends it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  #forgetOldest(): void {
    const gone = this.#denials[this.#oldest]!;
    if (this.#attempts.get(gone.key) === gone) this.#attempts.delete(gone.key);
    this.#oldest++;
    // Moved together now and then, and not each time.
    if (this.#oldest < this.#most) return;
    this.#denials.splice(0, this.#oldest);
    this.#oldest = 0;
  }
}

/**
 * What stays the same in all packets of an attempt. What TCP sends again bears the same number; another attempt from the
 * same port has another.
 */
function attemptKey({ from, to, protocol, sourcePort, port, tcp, icmp, fragment }: PacketHead): string {
  const own =
    tcp !== undefined
      ? `${tcp.sequence} ${tcp.flags}`
      : icmp === undefined
        ? ''
        : `${icmp.type} ${icmp.code} ${icmp.id ?? ''}`;
  return `${from} ${to} ${protocol} ${sourcePort ?? ''} ${port ?? ''} ${own}${fragment ? ' fragment' : ''}`;
}
