import type { Ruleset } from '../nft/ruleset.ts';

/** What one round takes in: policies once, however often its batch is made anew because others write meanwhile. */
export class RoundBatch {
  /** Of the agent: nobody is to wait for anybody's turn. */
  readonly isFirst: boolean;
  /** Hooks and unknown pods alone: on a fresh kernel they come first, whatever becomes of policies. */
  isBase = false;
  #taken = false;

  constructor(isFirst: boolean) {
    this.isFirst = isFirst;
  }

  takesPolicies(actual: Ruleset, noneWait: boolean): boolean {
    if (this.#taken) return false;
    this.#taken = true;
    this.isBase = this.isFirst && actual.tables.size === 0 && !noneWait;
    return !this.isBase;
  }
}
