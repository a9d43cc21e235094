/** What asks the kernel of a node: trace and inspect. */
import type { Command } from 'commander';
import type { NodeActions } from './nodeactions.ts';
import { manifestsOption, output, socketOption } from './options.ts';
import { collect } from './sourceoptions.ts';

export function addReadback(sluice: Command, actions: NodeActions): void {
  sluice
    .command('trace')
    .description('say what the kernel of this network namespace does with a connection, rule by rule')
    .argument('<from>', 'namespace/pod or an address')
    .argument('<to>', 'namespace/pod or an address, then [:port[/protocol]]; port: number or name')
    .option(
      manifestsOption[0],
      `${manifestsOption[1]}: ask them whether policy agrees, not the running agent`,
      collect,
    )
    .option('--node <name>', 'which node of the manifests this is')
    .addOption(socketOption("the running agent's unix socket"))
    .addOption(output())
    .addHelpText('after', TRACE_HELP)
    .action(actions.trace);

  const inspect = sluice
    .command('inspect')
    .description('show what is programmed in this network namespace, by pod and policy')
    .argument('[what]', 'only this pod (shop/web), namespace (shop) or policy (NetworkPolicy shop/web)')
    .option(
      manifestsOption[0],
      `${manifestsOption[1]}: compare the kernel with them, not with the running agent`,
      collect,
    )
    .option('--node <name>', 'which node of the manifests this is')
    .addOption(socketOption("the running agent's unix socket"))
    .addOption(output('wide', 'name'))
    .addHelpText('after', INSPECT_HELP)
    .action(actions.inspect);

  inspect
    .command('dump')
    .description('state of the agent and of the kernel as one line of JSON: for a bug report')
    .addOption(socketOption("the running agent's unix socket"))
    .addHelpText('after', DUMP_HELP)
    .action((_, command) => actions.dump(command.optsWithGlobals()));
}

const DUMP_HELP = `
Exit code 0; 2: trouble, as where neither an agent nor the kernel answers.

  sluice inspect dump > bug-report.json
  sluice explain guest/visitor shop/db:5432 --dump bug-report.json`;

const TRACE_HELP = `
Each end is judged on the node of its pod. The first word says what becomes of the connection ("outcome" in JSON, null
where no policy could be read; "elsewhere" has the other nodes that judge it, and what policy has them say):
  accept, drop      what this kernel does; "verdict" in JSON is this alone
  denied elsewhere  this node lets it pass, the node of the other end denies it
  not judged here   neither end is a pod of this node: ask on the node that is named

Exit code 1 where this kernel does not do what policy demands of it, 0 also where no policy could be read; 2: trouble.

  sluice trace guest/visitor shop/db:5432
  sluice trace 10.244.1.66 [fd00::7]:53/UDP
  sluice trace shop/web example.com:443      of the addresses that the pod was told the latest`;

const INSPECT_HELP = `
Exit code 1 where the actual state is not the desired one; 0 where it is, and also where no desired state could be read:
then the last line is "not compared", and in JSON "equal" is null. 2: trouble.

  sluice inspect                             all pods of this node that a policy selects
  sluice inspect 'NetworkPolicy shop/web'    what is programmed by a policy; shop/web is a pod, shop a namespace
  sluice inspect --manifests k8s/ --node n1  compared with a folder`;
