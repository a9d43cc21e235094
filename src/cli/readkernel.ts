import { openNftKernel } from '../netlink/nftables/nft-kernel.ts';
import type { QueueBy, Ruleset } from '../nft/ruleset.ts';

/** Sluice's tables in this network namespace. */
export async function readKernel(): Promise<Ruleset> {
  return (await lookAtKernel()).ruleset;
}

/** The same, and how packets can wait in this kernel. */
export async function lookAtKernel(): Promise<{ readonly ruleset: Ruleset; readonly queue?: QueueBy }> {
  const kernel = await openNftKernel();
  try {
    const { ruleset } = await kernel.dump();
    return { ruleset, ...(kernel.queue && { queue: kernel.queue }) };
  } finally {
    kernel.close();
  }
}
