import type { Command } from 'commander';
import type { NodeActions } from './nodeactions.ts';
import { duration, output, withAgents } from './options.ts';

export function addFlows(sluice: Command, { flows }: NodeActions): void {
  withAgents(
    sluice
      .command('flows')
      .description('show the new connections of this node: who, where to, and those that were denied')
      .option('-f, --follow', 'until you end it')
      .addOption(duration('--for <time>', 'how long to look, without --follow: 30s, 5m').default(10, '10s'))
      .option('-n, --namespace <name>', 'only where one end is in this namespace')
      .option('--pod <name>', 'only where one end is this pod (shop/web, or web)'),
  )
    .addOption(output())
    .addHelpText('after', HELP)
    .action(flows);
}

const HELP = `
The kernel tells of new connections for as long as somebody asks, and of none before. What comes faster than the agent
reads is lost, and counted: the last line says how many, and notes of each node where all are asked. See docs/flows.md.

Where no agent is on this machine, all agents of the cluster are asked, as by sluice drops.

Exit code 0, also where nothing came; 2: trouble, also where all are asked, without --follow, and one was away.

  sluice flows --for 30s                     half a minute of this node
  sluice flows --follow --pod shop/web       of a pod, until you end it`;
