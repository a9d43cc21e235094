import { setTimeout } from 'node:timers/promises';
import { openNftKernel } from '../kernel/netlink/nftables/nft-kernel.ts';
import { type Kernel, KernelError, type Snapshot } from '../nft/kernel.ts';
import type { QueueBy, Ruleset } from '../nft/ruleset.ts';

/** Sluice's tables in this network namespace. */
export async function readKernel(): Promise<Ruleset> {
  return (await lookAtKernel()).ruleset;
}

export async function hasRules(): Promise<boolean> {
  return (await readKernel()).tables.size > 0;
}

/** The programmed rules, and how packets can wait in this kernel. */
export async function lookAtKernel(): Promise<{ readonly ruleset: Ruleset; readonly queue?: QueueBy }> {
  const kernel = await openNftKernel();
  try {
    const { ruleset } = await dumpInPeace(kernel);
    return { ruleset, ...(kernel.queue && { queue: kernel.queue }) };
  } finally {
    kernel.close();
  }
}

/**
 * While an agent prepares policies it writes ten times a second: a read that was interrupted can succeed soon after.
 */
const PATIENCE = { tries: 20, pauseMs: 500 };

async function dumpInPeace(kernel: Kernel): Promise<Snapshot> {
  for (let left = PATIENCE.tries; ; left--) {
    try {
      return await kernel.dump();
    } catch (error) {
      // ENOENT: an object was deleted between listing and reading it.
      if (!(error instanceof KernelError && ['EAGAIN', 'ENOENT'].includes(error.code))) throw error;
      if (left === 0)
        throw new Error(
          'the rules change faster than they can be read: an agent prepares large policies, or another process writes nftables all the time; ask again in some seconds (sluice status names what waits)',
        );
      await setTimeout(PATIENCE.pauseMs);
    }
  }
}
