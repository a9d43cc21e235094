/** The rules without what is asked of who sends: the floor of the source check. */

import { FROM_PODS } from '../../src/compiler/linkmatches.ts';
import { type Chain, mapChains, type NftRule, type Ruleset } from '../../src/nft/ruleset.ts';

export function withoutSourceCheck(ruleset: Ruleset): Ruleset {
  return mapChains(ruleset, unchecked);
}

function unchecked(chain: Chain): Chain {
  return chain.hook === undefined ? chain : { ...chain, rules: chain.rules.filter(rule => !isCheck(rule)) };
}

/** It leads to the chain of what comes from pods, or asks the routes. */
function isCheck({ exprs }: NftRule): boolean {
  const chains: readonly string[] = Object.values(FROM_PODS);
  return exprs.some(
    expr =>
      expr.kind === 'fib' ||
      (expr.kind === 'verdict' && 'chain' in expr.verdict && chains.includes(expr.verdict.chain)),
  );
}
