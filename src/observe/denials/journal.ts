/**
 * The latest denials, one for each connection attempt: packets that are sent again count with the first. Its size is
 * bounded, and shared fairly: the source with most denials loses its oldest first.
 */

import { type Origin, QuotaList } from '../../lib/fairness/quota.ts';
import type { Address } from '../../model/address.ts';
import type { Pod } from '../../model/cluster.ts';
import type { DeniedPacket } from './cause.ts';
import type { Denial } from './denial.ts';
import type { ModelView } from './modelview.ts';
import { type NamedDenial, nameDenial } from './name.ts';
import { type PacketHead, readHead } from './packethead.ts';
import type { ServiceOf } from './servicenames.ts';

/** The most denials that are recorded. */
const MOST_DENIALS = 1_024;
/** TCP retransmits a SYN after 1, 3, 7, 15, 31 and 63 s, on every operating system. */
const SAME_ATTEMPT_MS = 70_000;
/** Packets that continue with the same ports for longer than this count as a new attempt. */
const LONGEST_ATTEMPT_MS = 600_000;

type Follower = (denial: Denial) => void;

interface Recorded {
  denial: Denial;
  readonly key: string;
}

export class Journal {
  /** The recorded attempts, by their keys. */
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

  /** Whether the packet belongs to a known attempt: then it is counted there, and needs no names. */
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

  /** Calls the follower with every denial from now on; call the returned function to end that. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}

/** Whether a time is within so many milliseconds; false if the clock was set back. */
function isWithin(ms: number, then: number, now: number): boolean {
  return Math.abs(now - then) <= ms;
}

// Which packets belong to one attempt, and to which source, so that no two sources share one.

export interface DeniedAttempt extends Origin {
  /** A key that all packets of the attempt share. */
  readonly key: string;
}

export function attemptOf(packet: DeniedPacket, view: ModelView): DeniedAttempt {
  const { from, to } = packet.head;
  const [sender, receiver] = [podWith(from, view), podWith(to, view)];
  const origin = { group: groupOf(packet, sender, view.node), source: sender?.key ?? from };
  // An address may be another pod's by now, which attempts for itself.
  const key = [origin.group, origin.source, receiver?.key, packetKey(packet.head)].join(' ');
  return { ...origin, key };
}

/** A packet whose source address is not believed is of its link, in whosever name it comes. */
function groupOf({ isOfLink, iif }: DeniedPacket, sender: Pod | undefined, node: string): string {
  if (isOfLink) return `link ${iif}`;
  return sender?.node === node ? `pod ${sender.key}` : 'outside';
}

/** The pod that has the address, or had it until a minute ago. */
function podWith(address: Address, view: ModelView): Pod | undefined {
  return view.ownerOf(address) ?? view.formerOwnerOf(address)?.pod;
}

/** A retransmission by TCP has the same sequence number; another attempt from the same port has another. */
function packetKey({ from, to, protocol, sourcePort, port, tcp, icmp, fragment }: PacketHead): string {
  const own =
    tcp !== undefined
      ? `${tcp.sequence} ${tcp.flags}`
      : icmp === undefined
        ? ''
        : `${icmp.type} ${icmp.code} ${icmp.id ?? ''}`;
  return `${from} ${to} ${protocol} ${sourcePort ?? ''} ${port ?? ''} ${own}${fragment ?? ''}`;
}

// From a packet that the kernel handed over to a denial that people can read: read, joined, named, recorded.

/** A packet as the kernel hands it over. */
export type Handed = Omit<DeniedPacket, 'head'> & { readonly bytes: Uint8Array };

export interface RecorderOptions {
  readonly view: ModelView;
  readonly serviceOf?: ServiceOf;
}

export class DenialRecorder {
  readonly journal = new Journal();
  readonly #options: RecorderOptions;
  #unread = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Packets that were neither IPv4 nor IPv6. */
  get unread(): number {
    return this.#unread;
  }

  /** The denial, where the packet is the first of its attempt. */
  take({ bytes, ...packet }: Handed, atMs: number): Denial | undefined {
    const head = readHead(bytes);
    if (head === undefined) {
      this.#unread++;
      return undefined;
    }
    const { view, serviceOf = () => undefined } = this.#options;
    const denied = { ...packet, head };
    const attempt = attemptOf(denied, view);
    if (this.journal.counted(attempt, atMs)) return undefined;
    return this.journal.add(attempt, nameDenial(denied, view, serviceOf), atMs);
  }
}
