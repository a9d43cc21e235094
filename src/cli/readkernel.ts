import { openNftKernel } from '../netlink/nftables/nft-kernel.ts';
import type { Ruleset } from '../nft/ruleset.ts';

/** What stands in the kernel of this network namespace, as far as it is Sluice's. */
export async function readKernel(): Promise<Ruleset> {
  const kernel = await openNftKernel();
  try {
    return (await kernel.dump()).ruleset;
  } finally {
    kernel.close();
  }
}
