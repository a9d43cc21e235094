import type { Family, NftVerdict } from './ruleset.ts';

/** The counter of one of our rules, since the rule was added. */
export interface RuleCount {
  readonly family: Family;
  readonly chain: string;
  /** Unique within its table, and never used again. */
  readonly handle: number;
  readonly comment: string;
  readonly verdict: NftVerdict;
  readonly packets: number;
  /** How long ago the last packet came, when it was read; absent if none came, or if the rule does not remember. */
  readonly lastMsAgo?: number;
}
