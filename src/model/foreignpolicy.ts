import type { PodSelector } from './selector.ts';

/** A policy that another engine enforces. It is not read, but what it may be about is known. */
export interface ForeignPolicy {
  /** `CiliumNetworkPolicy shop/lock`. */
  readonly id: string;
  /** `Cilium`. */
  readonly engine: string;
  /** The pods that it may isolate: more than it selects where a part of its selector cannot be read. */
  readonly subjects: readonly PodSelector[];
}
