import type { NftSet, Ruleset, Table, TableFamily } from '../../../src/nft/ruleset.ts';

/** A ruleset without the room that its sets have: the kernel says it, `compile` does not. */
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
  return set;
}
