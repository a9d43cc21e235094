/** Our text, and what nft makes of it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { formatRuleset } from '../../src/nft/format/format.ts';
import { applied, plan } from '../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { clusterArbitrary } from '../support/arbitrary/cluster.ts';
import { rulesetArbitrary } from '../support/arbitrary/rulesets.ts';
import { NOTHING } from '../support/oracle/transitions.ts';
import { runs } from '../support/seed.ts';
import { Netns } from './netns.ts';

describe('formatRuleset()', () => {
  it('writes text that nft -f loads, and lists as it lists what we commit', async () => {
    await fc.assert(
      fc.asyncProperty(rulesetArbitrary(), async ruleset => {
        const text = formatRuleset(applied(NOTHING, ruleset));
        const listing = loadAndList(text);
        expect(listing, text).toBe(await commitAndList(ruleset));
        expect(loadAndList(listing), text).toBe(listing);
      }),
      { numRuns: runs(100) },
    );
  });

  it('writes what policy is compiled to as text that nft -f loads, and lists as it lists what we commit', async () => {
    await fc.assert(
      fc.asyncProperty(clusterArbitrary, async cluster => {
        for (const node of cluster.nodes.keys()) {
          const ruleset = compile(cluster, node);
          const text = formatRuleset(applied(NOTHING, ruleset));
          expect(loadAndList(text), text).toBe(await commitAndList(ruleset));
        }
      }),
      { numRuns: runs(100) },
    );
  });
});

function loadAndList(text: string): string {
  const netns = new Netns();
  try {
    netns.exec('nft', ['-f', '-'], text);
    return list(netns);
  } finally {
    netns.close();
  }
}

async function commitAndList(ruleset: Ruleset): Promise<string> {
  const netns = new Netns();
  try {
    const kernel = await netns.run(() => openNftKernel());
    await kernel.commit(plan(NOTHING, ruleset));
    const listing = list(netns);
    kernel.close();
    return listing;
  } finally {
    netns.close();
  }
}

/** Without the owner of a table, who is not in the text. */
function list(netns: Netns): string {
  return netns.exec('nft', ['list', 'ruleset']).replace(/ # progname .*|\tflags owner\n+/g, '');
}
