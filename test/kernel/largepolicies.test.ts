/** The worst policies that an author may write, each committed to nf_tables and read back. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LARGE_POLICIES, networkPolicy } from '../../bench/largepolicies.ts';
import { compile } from '../../src/compiler/compile.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { stagesOf } from '../../src/nft/plan/stages.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { clusterWith, NODE } from '../support/arbitrary/largepolicies.ts';
import { Netns } from './netns.ts';

let netns: Netns;
let kernel: Kernel;

beforeEach(async () => {
  netns = new Netns();
  kernel = await netns.run(() => openNftKernel());
});

afterEach(() => {
  kernel.close();
  netns.close();
});

/** The sizes on both sides of what one rule holds, and the largest that are within the budget or beyond it. */
const SIZES = [1, 24, 25, 29, 30, 31, 40, 41, 42, 200, 1_000, 2_000, 4_900];

test.each(Object.entries(LARGE_POLICIES))('the kernel takes, at every size, %s', async (_, spec) => {
  for (const n of SIZES) await follow(rulesOf(spec(n)));
  await follow(rulesOf(spec(0)));
});

function rulesOf(spec: object): Ruleset {
  const policy = networkPolicy('shop', 'x', { podSelector: { matchLabels: { app: 'a0' } }, ...spec });
  return compile(clusterWith([policy]), NODE);
}

async function follow(ruleset: Ruleset): Promise<void> {
  const { ruleset: actual } = await kernel.dump();
  for (const ops of stagesOf(plan(actual, ruleset))) await kernel.commit(ops);
  expect(plan((await kernel.dump()).ruleset, ruleset)).toEqual([]);
}
