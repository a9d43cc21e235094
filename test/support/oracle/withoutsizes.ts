import type { NftSet, Ruleset, Table, TableFamily } from '../../../src/nft/ruleset.ts';

/** A ruleset without what the kernel says and `compile` does not: the room of its sets, and what packets put into them. */
export function withoutSizes({ tables }: Ruleset): Ruleset {
  return {
    tables: new Map(
      [...tables].map(([family, { sets, chains }]): [TableFamily, Table] => [
        family,
        { sets: new Map([...sets].map(([name, set]) => [name, withoutSize(set)])), chains },
      ]),
    ),
  };
}

function withoutSize({ size: _, ...set }: NftSet): NftSet {
  return set.dynamic === undefined ? set : { ...set, elements: new Map() };
}
