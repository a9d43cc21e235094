/** From a packet that the kernel handed over to a denial that people can read: read, joined, named, recorded. */
import { attemptOf } from './attempt.ts';
import type { DeniedPacket } from './cause.ts';
import type { Denial } from './denial.ts';
import { Journal } from './journal.ts';
import type { ModelView } from './modelview.ts';
import { nameDenial } from './name.ts';
import { readHead } from './packethead.ts';
import type { ServiceOf } from './servicenames.ts';

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
