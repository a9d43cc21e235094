/**
 * Sets of peers that are filled before the policies come that will name them (live/preparations.ts): they are programmed,
 * and what policy demands now has none of them.
 */
import { mapTables } from '../nft/maptables.ts';
import type { NftSet, Ruleset, Table } from '../nft/ruleset.ts';
import type { Group } from './group.ts';

const KINDS: readonly Group['kind'][] = ['peers', 'others', 'named'];

/** `desired`, and what `programmed` has prepared: nothing names it, so that it changes nothing for any packet. */
export function withPreparedSets(desired: Ruleset, programmed: Ruleset): Ruleset {
  return mapTables(desired, (table, family) => {
    const prepared = preparedIn(programmed.tables.get(family)).filter(({ name }) => !table.sets.has(name));
    if (prepared.length === 0) return table;
    const sets = new Map([...table.sets, ...prepared.map((set): [string, NftSet] => [set.name, set])]);
    return { ...table, sets };
  });
}

function preparedIn(table: Table | undefined): NftSet[] {
  if (table === undefined) return [];
  const named = new Set(
    [...table.chains.values()].flatMap(({ rules }) =>
      rules.flatMap(({ exprs }) => exprs.flatMap(expr => ('set' in expr ? expr.set : []))),
    ),
  );
  const isOfPeers = ({ name }: NftSet) => KINDS.some(kind => name.startsWith(`${kind}-`));
  return [...table.sets.values()].filter(set => isOfPeers(set) && !named.has(set.name));
}
