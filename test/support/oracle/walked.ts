import { type Chain, mapTables, type Ruleset, type Table } from '../../../src/nft/ruleset.ts';
import { withoutSizes } from './withoutsizes.ts';

/** The part of a ruleset that packets can reach: its base chains, and all that these lead to. */
export function walked(ruleset: Ruleset): Ruleset {
  return mapTables(withoutSizes(ruleset), walkedOf);
}

function walkedOf({ chains, sets }: Table): Table {
  const found = new Set([...chains.values()].filter(({ hook }) => hook !== undefined));
  const looked = new Set<string>();
  for (const chain of found) {
    for (const name of setsOf(chain)) looked.add(name);
    for (const target of [...setsOf(chain)].flatMap(name => targetsOfSet(name)).concat(targetsOf(chain)))
      found.add(chains.get(target)!);
  }
  return {
    chains: new Map([...chains].filter(([, chain]) => found.has(chain))),
    sets: new Map([...sets].filter(([name]) => looked.has(name))),
  };

  function targetsOfSet(name: string): string[] {
    return [...sets.get(name)!.elements.values()].flatMap(({ verdict }) =>
      verdict && 'chain' in verdict ? verdict.chain : [],
    );
  }
}

function setsOf({ rules }: Chain): string[] {
  return rules.flatMap(({ exprs }) => exprs.flatMap(expr => ('set' in expr ? expr.set : [])));
}

function targetsOf({ rules }: Chain): string[] {
  return rules.flatMap(({ exprs }) =>
    exprs.flatMap(expr => (expr.kind === 'verdict' && 'chain' in expr.verdict ? expr.verdict.chain : [])),
  );
}
