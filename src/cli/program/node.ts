/** What runs on a node: status, uninstall. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { NodeActions } from './nodeactions.ts';
import { output, seconds, socketOption } from './options.ts';

export function addNode(sluice: Command, actions: NodeActions): void {
  addStatus(sluice, actions);
  addUninstall(sluice, actions);
}

function addStatus(sluice: Command, actions: NodeActions): void {
  sluice
    .command('status')
    .description('say how the running agent and the pod network of its node are; exit code 1 if not ready')
    .addOption(socketOption("the agent's unix socket"))
    .addOption(output('wide'))
    .addHelpText('after', STATUS_HELP)
    .action(actions.status);
}

function addUninstall(sluice: Command, actions: NodeActions): void {
  sluice
    .command('uninstall')
    .description('remove what Sluice made on this node, or on all nodes of a cluster with its agents')
    .option('--all-nodes', 'end the agents of the cluster, clean each node, and say which were away')
    .addOption(
      new Option('-n, --namespace <name>', "with --all-nodes: the agents' namespace")
        .argParser(namespace)
        .default('sluice'),
    )
    .option(
      '-f, --file <file>',
      "with --all-nodes: manifests that have the agents' DaemonSet, where the cluster has it no more",
    )
    .option(
      '--kubeconfig <file>',
      "with --all-nodes: the cluster; without it kubectl's, or the one of this pod",
    )
    .addOption(
      new Option('--timeout <seconds>', 'with --all-nodes: how long to wait for nodes')
        .argParser(seconds)
        .default(60),
    )
    .option('--ignore-absent', 'with --all-nodes: exit code 0 although nodes were away')
    .addOption(
      new Option(
        '--after-agent <seconds>',
        "wait for the end of this node's agent, which was told to end, as long as it may take",
      )
        .argParser(seconds)
        .conflicts('allNodes'),
    )
    .option('--cni-bin-dir <dir>', "also remove sluice-cni from the runtime's folder of plugins")
    .option('--cni-conf-dir <dir>', "also remove Sluice's list from the runtime's folder of lists")
    .addHelpText('after', UNINSTALL_HELP)
    .action(actions.uninstall);
}

/** What the API server takes for one: what it does not is a path of another kind of object. */
function namespace(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError('It is not a name of a namespace.');
  return text;
}

const STATUS_HELP = `
Exit code 0: ready; 1: not ready; 2: trouble, as where no agent answers.

  sluice status
  sluice status -o json | jq .ready`;

const UNINSTALL_HELP = `
On a node it removes the tables of Sluice, and what attached pods had from it: their interfaces and the node's routes to
other nodes' pods. No agent may run there. Exit code 1 where something could not be removed, or a node was away; 2: trouble.

  sluice uninstall                          this node
  sluice uninstall --all-nodes              the cluster of your kubeconfig
  sluice uninstall --all-nodes -n platform  agents that run in namespace platform
  sluice uninstall --all-nodes -f daemonset/install.yaml  somebody deleted the agents, and left what they made`;
