/**
 * Denies unknown pods again where the previous agent took itself for the last one of the node (removal.ts), but was
 * wrong: something else than the API server had answered it, or the server refused it for another reason. This happens
 * before the cluster is read, because reading may fail for a long time.
 */
import type { Logger } from 'pino';
import { denyingUnknownPods } from '../compiler/deniedagain.ts';
import { isMarkedRemoved } from '../compiler/removedmark.ts';
import { openNftKernel } from '../kernel/netlink/nftables/nft-kernel.ts';
import { errorText } from '../lib/text/errortext.ts';
import type { Kernel } from '../nft/kernel.ts';
import { plan } from '../nft/plan/plan.ts';

/** Denies unknown pods again. Never throws: if it fails, the agent's own rules will deny them. */
export async function denyUnknownPodsAgain(
  log: Pick<Logger, 'warn'>,
  open: () => Promise<Kernel> = openNftKernel,
): Promise<void> {
  try {
    const kernel = await open();
    try {
      const { ruleset, generation } = await kernel.dump();
      if (!isMarkedRemoved(ruleset)) return;
      await kernel.commit(plan(ruleset, denyingUnknownPods(ruleset)), generation);
      log.warn({}, 'an agent ended here as if Sluice were being removed: unknown pods are denied again');
    } finally {
      kernel.close();
    }
  } catch (error) {
    log.warn({}, `unknown pods are denied again with the first rules: ${errorText(error)}`);
  }
}
