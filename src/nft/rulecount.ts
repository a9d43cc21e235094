import type { Family, NftVerdict } from './ruleset.ts';

/** What a rule of ours has counted since it was written. */
export interface RuleCount {
  readonly family: Family;
  readonly chain: string;
  /** One in its table, and never used again there. */
  readonly handle: number;
  readonly comment: string;
  readonly verdict: NftVerdict;
  readonly packets: number;
  /** How long before it was read a packet came last; absent where none has, or rules do not remember. */
  readonly lastMsAgo?: number;
}
