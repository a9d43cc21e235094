/** nft_table_validate: from a base chain on, at most fifteen jumps and gotos lead on; a circle has no end. */
import { MAX_CHAIN_DEPTH } from '../../../src/nft/limits.ts';
import { targetOf } from '../../../src/nft/plan/equal.ts';
import type { Chain, Elements, NftRule } from '../../../src/nft/ruleset.ts';
import { Refusal } from './refusal.ts';

export type FakeSets = ReadonlyMap<string, { readonly verdicts: boolean; readonly elements: Elements }>;

/** Chains that no base chain leads to may be as they like. */
export function refuseDeepJumps(chains: ReadonlyMap<string, Chain>, sets: FakeSets): void {
  const deepest = new Map<Chain, number>();
  const visit = (chain: Chain, level: number): void => {
    if (level >= MAX_CHAIN_DEPTH) throw new Refusal('EMLINK', 'chains jump in a circle, or deeper than 16');
    if ((deepest.get(chain) ?? -1) >= level) return;
    deepest.set(chain, level);
    for (const target of chainTargets(chain, sets)) visit(chains.get(target)!, level + 1);
  };
  for (const chain of chains.values()) if (chain.hook !== undefined) visit(chain, 0);
}

/** The chains that a chain leads to. */
export function chainTargets({ rules }: Chain, sets: FakeSets): Set<string> {
  return new Set(rules.flatMap(rule => ruleTargets(rule, sets)));
}

function ruleTargets({ exprs }: NftRule, sets: FakeSets): string[] {
  return exprs.flatMap(expr => {
    if (expr.kind === 'verdict') return defined([targetOf(expr.verdict)]);
    if (expr.kind !== 'lookup') return [];
    const { verdicts, elements } = sets.get(expr.set)!;
    return verdicts ? defined(Array.from(elements.values(), ({ verdict }) => targetOf(verdict))) : [];
  });
}

function defined(names: readonly (string | undefined)[]): string[] {
  return names.filter(name => name !== undefined);
}
