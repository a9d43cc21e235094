/**
 * The mark of an agent that ends because Sluice is being removed: from now on no agent changes these tables, and the
 * removal deletes them. It is an empty chain, so that every nft lists it. If another agent starts, its first commit
 * deletes the chain, like any object that is not desired:
 *
 *     table ip sluice {
 *       chain agent-removed {
 */
import { type Chain, mapTables, type Ruleset } from '../nft/ruleset.ts';

const MARK: Chain = { name: 'agent-removed', rules: [] };

export function markedRemoved(ruleset: Ruleset): Ruleset {
  return mapTables(ruleset, table => ({
    ...table,
    chains: new Map([...table.chains, [MARK.name, MARK]]),
  }));
}

export function withoutMark(ruleset: Ruleset): Ruleset {
  return mapTables(ruleset, table => ({
    ...table,
    chains: new Map([...table.chains].filter(([name]) => name !== MARK.name)),
  }));
}

export function isMarkedRemoved({ tables }: Ruleset): boolean {
  return [...tables.values()].some(({ chains }) => chains.has(MARK.name));
}
