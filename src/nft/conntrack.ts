/** The connections that the kernel of a network namespace tracks; beside `Kernel`, what policy acts on. */
import type { Address } from '../model/address.ts';
import type { Flow } from '../model/flow.ts';
import type { MissingFeature } from './missingfeature.ts';

/** One connection, as the end that opened it sees it and as policy does: after DNAT, before SNAT (N61). */
export interface Connection {
  readonly flow: Flow;
  /** Of TCP, UDP and SCTP: the port of the end that opened it. */
  readonly sourcePort?: number;
  /** What it was addressed to, where that was translated. */
  readonly dialled?: Address;
  /** Nobody has answered it yet: what its opener sends is `ct state new` still, and judged like a first packet. */
  readonly unreplied?: true;
  /** What the kernel knows it by: its original tuple and its id, which a later one in the same memory may have too. */
  readonly handle: ConnectionHandle;
}

type ConnectionHandle = Uint8Array & { readonly __handle?: true };

/** A read about more addresses walks the whole table once, and not once for each end of each of them. */
export const FEW_ADDRESSES = 4;

export interface Conntrack {
  /** What this kernel lacks, and what we do instead; empty for the newest. */
  readonly missingFeatures: readonly MissingFeature[];
  /**
   * Visits the wanted ones of all connections, or of those with one of the addresses at one of their ends, as policy
   * sees them. What is not wanted costs little. A connection may be visited twice. Between two parts of the answer, of
   * some hundred connections, `pause` is asked for what is to be waited for. A read about few addresses, one about many,
   * and what is deleted meanwhile do not wait for one another.
   */
  read(
    about: readonly Address[] | 'all',
    wanted: (flow: Flow) => boolean,
    visit: (connection: Connection) => void,
    pause?: () => Promise<void> | undefined,
  ): Promise<void>;
  /** Whether the kernel still tracks this very connection. */
  has(connection: Connection): Promise<boolean>;
  /** Has the kernel forget connections; answers how many of them it still knew. */
  delete(connections: readonly Connection[]): Promise<number>;
  close(): void;
}
