/** Whoever had an address before its pod: what was open to them is accepted before any rule is asked. */
import type { Address } from '../../model/address.ts';

export interface ConntrackFlusher {
  /** Nobody has these addresses any more. Never waits. */
  released(addresses: readonly Address[]): void;
  /** Perhaps nobody reported who has left: looks at all addresses that no pod has. Never waits. */
  sweep(): void;
  /** Settles when nothing is open any more to those who had these addresses before. Never rejects. */
  flushed(addresses: readonly Address[]): Promise<void>;
}
