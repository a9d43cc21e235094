/**
 * The last sign of an agent that ends because Sluice is being removed: nobody changes these tables any more but who takes
 * them away. An empty chain, so that every nft lists it; the next agent's first commit takes it away, as anything that is
 * not desired:
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
