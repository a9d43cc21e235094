/** What runs on a node or makes one of its own: status, uninstall, bench, demo. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { NodeActions } from './nodeactions.ts';
import { output, seconds, socketOption } from './options.ts';

export function addNode(sluice: Command, actions: NodeActions): void {
  addDemo(sluice, actions);
  addStatus(sluice, actions);
  addBench(sluice, actions);
  addUninstall(sluice, actions);
}

function addDemo(sluice: Command, actions: NodeActions): void {
  sluice
    .command('demo')
    .description(
      'two nodes, a shop and a stranger as network namespaces: policy on real packets (needs root)',
    )
    .option('--keep', 'leave the demo running and show what to try')
    .addOption(
      new Option(
        '--again',
        'try the board once more over what --keep left, and over your edits of its manifests',
      ).conflicts(['keep', 'remove']),
    )
    .addOption(new Option('--remove', 'remove what an earlier --keep left').conflicts('keep'))
    .addHelpText('after', DEMO_HELP)
    .action(actions.demo);
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

/** Their list is large, and who wants help loads none of it. */
export const BENCH_SUITES = [
  'compile',
  'memory',
  'events',
  'start',
  'commit',
  'packets',
  'denials',
  'flows',
  'conntrack',
  'attach',
  'attached',
  'policies',
  'names',
  'matrix',
  'explain',
  'neighbours',
];

function addBench(sluice: Command, actions: NodeActions): void {
  sluice
    .command('bench')
    .description('measure what rules, events and packets cost here, beside budgets and floors (needs root)')
    .argument('[names...]', `suites (${BENCH_SUITES.join(', ')}), then parts of rows`)
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'))
    .option('--json', 'the same as -o json')
    .option('--verbose', 'say what every design of the packet benchmark took')
    .addHelpText('after', BENCH_HELP)
    .action(actions.bench);
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

const DEMO_HELP = `
Exit code 0: everything was as expected; 2: it was not, or there was trouble.

  sluice demo
  sluice demo --keep     leaves it running, for edits of its manifests
  sluice demo --again    tries all once more`;

const STATUS_HELP = `
Exit code 0: ready; 1: not ready; 2: trouble, as where no agent answers.

  sluice status
  sluice status -o json | jq .ready`;

const BENCH_HELP = `
Exit code 0: all budgets are kept; 1: one is missed; 2: trouble, as where nothing was measured.

  sluice bench explain matrix
  sluice bench packets new -o json           the rows of a suite that have a word in their names`;

const UNINSTALL_HELP = `
On a node it removes the tables of Sluice, and what attached pods had from it: their interfaces and the node's routes to
other nodes' pods. No agent may run there. Exit code 1 where something could not be removed, or a node was away; 2: trouble.

  sluice uninstall                          this node
  sluice uninstall --all-nodes              the cluster of your kubeconfig
  sluice uninstall --all-nodes -n platform  agents that run in namespace platform
  sluice uninstall --all-nodes -f daemonset/install.yaml  somebody deleted the agents, and left what they made`;
