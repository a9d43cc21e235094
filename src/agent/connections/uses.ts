/** What the members of sets are in for: the rules that look them up and judge open connections. */
import { isDenial } from '../../compiler/denied.ts';
import type { Chain, Family, NftRule, Table } from '../../nft/ruleset.ts';
import { allows, verdictOf } from './loosens.ts';
import { judgingChains } from './reach.ts';

export type Use = 'allow' | 'deny' | 'both';

export interface Uses {
  /** Undefined where no such rule looks the set up. */
  readonly use: Use | undefined;
  /** The chains of these rules. */
  readonly chains: readonly string[];
}

export const NO_USES: Uses = { use: undefined, chains: [] };

/** By the names of sets. */
export function usesOf(table: Table, family: Family): ReadonlyMap<string, Uses> {
  const found = ofTables.get(table);
  if (found !== undefined) return found;
  const uses = new Map<string, { use: Use | undefined; chains: string[] }>();
  for (const name of judgingChains(table, family))
    for (const [set, use] of usesIn(table.chains.get(name)!)) {
      const known = uses.get(set) ?? { use, chains: [] };
      known.chains.push(name);
      uses.set(set, { use: known.use === use ? use : 'both', chains: known.chains });
    }
  ofTables.set(table, uses);
  return uses;
}

const ofTables = new WeakMap<Table, ReadonlyMap<string, Uses>>();
/** A chain that has not changed is the same object. */
const ofChains = new WeakMap<Chain, ReadonlyMap<string, Use>>();

function usesIn(chain: Chain): ReadonlyMap<string, Use> {
  const found = ofChains.get(chain);
  if (found !== undefined) return found;
  const uses = new Map<string, Use>();
  for (const rule of chain.rules)
    for (const expr of rule.exprs) {
      if (expr.kind !== 'lookup') continue;
      const use = expr.invert ? 'both' : useIn(rule);
      uses.set(expr.set, (uses.get(expr.set) ?? use) === use ? use : 'both');
    }
  ofChains.set(chain, uses);
  return uses;
}

function useIn(rule: NftRule): Use {
  const verdict = verdictOf(rule);
  if (allows(verdict)) return 'allow';
  return isDenial(verdict) ? 'deny' : 'both';
}
