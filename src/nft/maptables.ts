/** A ruleset that is as another one, but for some of its objects. */
import type { Chain, NftSet, Ruleset, Table, TableFamily } from './ruleset.ts';

export function mapTables(
  { tables }: Ruleset,
  change: (table: Table, family: TableFamily) => Table,
): Ruleset {
  return { tables: new Map(Array.from(tables, ([family, table]) => [family, change(table, family)])) };
}

/** Names stay. */
export function mapChains(ruleset: Ruleset, change: (chain: Chain) => Chain): Ruleset {
  return mapTables(ruleset, table => ({ ...table, chains: mapValues(table.chains, change) }));
}

/** Names stay. */
export function mapSets(ruleset: Ruleset, change: (set: NftSet) => NftSet): Ruleset {
  return mapTables(ruleset, table => ({ ...table, sets: mapValues(table.sets, change) }));
}

function mapValues<T>(objects: ReadonlyMap<string, T>, change: (object: T) => T): ReadonlyMap<string, T> {
  return new Map(Array.from(objects, ([name, object]) => [name, change(object)]));
}
