import { openNftKernel } from '../netlink/nftables/nft-kernel.ts';
import type { Ruleset } from '../nft/ruleset.ts';

/** Sluice's tables in this network namespace. */
export async function readKernel(): Promise<Ruleset> {
  const kernel = await openNftKernel();
  try {
    return (await kernel.dump()).ruleset;
  } finally {
    kernel.close();
  }
}
