import { openNftKernel } from '../netlink/nftables/nft-kernel.ts';
import { POD_TABLE, removalMessages } from '../network/hostports/podtable.ts';
import { PodTableSocket, TableError } from '../network/hostports/podtablesocket.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { writeLine } from '../terminal/output.ts';

const NOTHING: Ruleset = { tables: new Map() };

/** `sluice uninstall`: takes our tables away in one batch; everybody else's stay. */
export async function uninstallCommand(): Promise<void> {
  const kernel = await openNftKernel();
  try {
    const { ruleset, generation } = await kernel.dump();
    if ((await kernel.owner()) === 'another') {
      throw new CommandError(
        'an agent is running here and owns the tables: stop it first; nothing was changed',
      );
    }
    await kernel.commit(plan(ruleset, NOTHING), generation);
    const removed = [...ruleset.tables.keys()].map(family => `table ${family} sluice`);
    if (await removePodTable()) removed.push(`table inet ${POD_TABLE}`);
    writeLine(removed.length === 0 ? 'nothing to remove' : `removed ${removed.join(', ')}`);
  } finally {
    kernel.close();
  }
}

/** What attached pods had beside policy; the pods keep their interfaces until their runtime detaches them. */
async function removePodTable(): Promise<boolean> {
  const socket = new PodTableSocket();
  try {
    await socket.commit(removalMessages());
    return true;
  } catch (error) {
    if (error instanceof TableError && error.code === 'ENOENT') return false;
    throw error;
  } finally {
    socket.close();
  }
}
