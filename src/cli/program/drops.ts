import type { Command } from 'commander';
import type { NodeActions } from './nodeactions.ts';
import { output, withAgents } from './options.ts';

export function addDrops(sluice: Command, { drops }: NodeActions): void {
  withAgents(
    sluice
      .command('drops')
      .description('show the connections that this node denied: who, where to, and which policy')
      .option('-f, --follow', 'go on with those that come')
      .option('-n, --namespace <name>', 'only where one end is in this namespace')
      .option('--pod <name>', 'only where one end is this pod (shop/web, or web)')
      .option('--policy <name>', 'only what this policy denied (shop/web, web, cnp:platform)'),
  )
    .addOption(output())
    .addHelpText('after', HELP)
    .action(drops);
}

const HELP = `
One line for each connection attempt; what is sent again is counted with it. How many are named is limited, for each
source and in all (sluice agent --denials): the last line says what was left out, and a note of each node where all are
asked. See docs/drops.md.

Where no agent is on this machine, all agents of the cluster are asked, each in its pod, with your own rights: you need to
list pods and to create pods/exec in their namespace.

Exit code 0, also where nothing was denied; 2: trouble, also where all are asked, without --follow, and one was away.

  sluice drops                               what this node denied, as far back as its agent knows
  sluice drops --follow -n shop              of a namespace, as it comes
  sluice drops --policy shop/db -o json      what one policy denied, for programs`;
