/**
 * The connections that the kernel of a network namespace tracks. Beside `Kernel`, this is the other part of the kernel
 * that policy changes.
 */
import type { Address } from '../model/address.ts';
import type { Flow } from '../model/flow.ts';
import type { MissingFeature } from './missingfeature.ts';

/** One connection, as its opener and policy see it: after DNAT and before SNAT (N61). */
export interface Connection {
  readonly flow: Flow;
  /** For TCP, UDP and SCTP: the source port of the end that opened it. */
  readonly sourcePort?: number;
  /** The address that the opener connected to, if it was translated. */
  readonly dialled?: Address;
  /** There was no reply yet: packets of its opener are still `ct state new`, and judged like a first packet. */
  readonly unreplied?: true;
  /**
   * How the kernel identifies it: its original tuple and its id. A later connection at the same memory address may have
   * the same id.
   */
  readonly handle: ConnectionHandle;
}

type ConnectionHandle = Uint8Array & { readonly __handle?: true };

/** A read for more addresses than this walks the whole table once, instead of once for each end of each address. */
export const FEW_ADDRESSES = 4;

export interface Conntrack {
  /** What this kernel lacks, and what is done instead; empty for a kernel that lacks nothing. */
  readonly missingFeatures: readonly MissingFeature[];
  /**
   * Visits connections that pass the filter: all of them, or those with one of the addresses at one of their ends, as
   * policy sees them. Connections that do not pass cost little. A connection may be visited twice. `pause` is called
   * between two parts of the kernel's answer, of some hundred connections each, and is awaited. A read for few
   * addresses, one for many, and deletions do not wait for one another.
   */
  read(
    about: readonly Address[] | 'all',
    wanted: (flow: Flow) => boolean,
    visit: (connection: Connection) => void,
    pause?: () => Promise<void> | undefined,
  ): Promise<void>;
  /** Whether the kernel still tracks exactly this connection. */
  has(connection: Connection): Promise<boolean>;
  /** Deletes connections from conntrack. Returns how many of them it still had. */
  delete(connections: readonly Connection[]): Promise<number>;
  close(): void;
}
