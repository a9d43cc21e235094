import { openNftKernel } from '../netlink/nft-kernel.ts';
import { plan } from '../nft/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { CommandError } from './errors.ts';

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
    const families = [...ruleset.tables.keys()].map(family => `${family} sluice`);
    process.stdout.write(
      families.length === 0 ? 'nothing to remove\n' : `removed table ${families.join(', table ')}\n`,
    );
  } finally {
    kernel.close();
  }
}
