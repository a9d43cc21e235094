/** Brings a kernel from ruleset to ruleset by plans, and holds it against what the plans promise. */
import { expect } from 'vitest';
import type { Kernel } from '../../../src/nft/kernel.ts';
import type { Op } from '../../../src/nft/plan/op.ts';
import { applied, plan } from '../../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { withoutSizes } from './withoutsizes.ts';

export const NOTHING: Ruleset = { tables: new Map() };

/** Programs each ruleset after the one before it, the first on an empty kernel. Returns the batches. */
export async function walkThrough(kernel: Kernel, rulesets: readonly Ruleset[]): Promise<Op[][]> {
  let shadow = NOTHING;
  const batches: Op[][] = [];
  for (const desired of rulesets) {
    const ops = plan(shadow, desired);
    await kernel.commit(ops);
    batches.push(ops);
    shadow = applied(shadow, desired);
    const { ruleset } = await kernel.dump();
    expect(withoutSizes(ruleset)).toEqual(desired);
    expect(sizesOf(shadow)).toEqual(sizesOf(ruleset));
    expect(plan(ruleset, desired)).toEqual([]);
    expect(plan(shadow, desired)).toEqual([]);
  }
  return batches;
}

function sizesOf({ tables }: Ruleset): Map<string, number | undefined> {
  const sets = [...tables].flatMap(([family, table]) =>
    [...table.sets.values()].map(({ name, size }) => [`${family} ${name}`, size] as const),
  );
  return new Map(sets);
}
