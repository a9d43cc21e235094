import { mapSets, type NftSet, type Ruleset } from '../../../src/nft/ruleset.ts';

/** A ruleset without what the kernel says and `compile` does not: the room of its sets, and what packets put into them. */
export function withoutSizes(ruleset: Ruleset): Ruleset {
  return mapSets(ruleset, withoutSize);
}

function withoutSize({ size: _, ...set }: NftSet): NftSet {
  return set.dynamic === undefined ? set : { ...set, elements: new Map() };
}
