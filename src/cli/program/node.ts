/** What asks the kernel of a node: trace and inspect. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { NodeActions } from './nodeactions.ts';
import {
  collect,
  duration,
  manifestsOption,
  NODE_OR_MANIFESTS,
  output,
  seconds,
  socketOption,
  withAgents,
  withNamespace,
} from './options.ts';

export function addReadback(sluice: Command, actions: NodeActions): void {
  withAgents(
    sluice
      .command('trace')
      .description('say what the kernel of this network namespace does with a connection, rule by rule'),
    NODE_OR_MANIFESTS,
  )
    .argument(
      '<from>',
      'who opens it: a pod, a workload, labels, a node or an address, as sluice explain has them',
    )
    .argument('<to>', 'who is meant to answer: these, or a Service; then [:port[/protocol]]')
    .option('-n, --namespace <name>', 'the namespace of names that say none')
    .option(
      manifestsOption[0],
      `${manifestsOption[1]}: ask them whether policy agrees, not the running agent`,
      collect,
    )
    .addOption(output())
    .addHelpText('after', TRACE_HELP)
    .action(actions.trace);

  const inspect = withAgents(
    withNamespace(
      sluice
        .command('inspect')
        .description('show what is programmed in this network namespace, by pod and policy'),
      'only of this namespace, which names without one are in',
    ),
    NODE_OR_MANIFESTS,
  )
    .argument(
      '[what...]',
      'only these pods, as sluice explain has them, namespaces (shop) or policies (NetworkPolicy shop/web)',
    )
    .option(
      manifestsOption[0],
      `${manifestsOption[1]}: compare the kernel with them, not with the running agent`,
      collect,
    )
    .addOption(output('wide', 'name'))
    .addHelpText('after', INSPECT_HELP)
    .action(actions.inspect);

  inspect
    .command('dump')
    .description('state of the agent and of the kernel as one line of JSON: for a bug report')
    .addOption(socketOption("the running agent's unix socket"))
    .addHelpText('after', DUMP_HELP)
    .action((_, command) => actions.dump(command.optsWithGlobals()));

  // A prompt elsewhere asks so what DNS has answered to pods.
  inspect
    .command('names', { hidden: true })
    .argument('<pods...>')
    .addOption(socketOption("the running agent's unix socket"))
    .addHelpText('after', NAMES_HELP)
    .action((pods, _, command) => actions.names(pods, command.optsWithGlobals()));
}

const DUMP_HELP = `
Exit code 0; 2: error, as where neither an agent nor the kernel answers.

  sluice inspect dump > bug-report.json
  sluice explain guest/visitor shop/db:5432 --dump bug-report.json`;

const NAMES_HELP = `
Exit code 0; 2: error, as where no agent answers.

  sluice inspect names shop/web shop/api`;

const TRACE_HELP = `
Each end is judged on the node of its pod. The first word says what becomes of the connection ("outcome" in JSON, null
where no policy could be read; "elsewhere" has the other nodes that judge it, and what policy has them say):
  accept, drop      what this kernel does; "verdict" in JSON is this alone
  denied elsewhere  this node lets it pass, the node of the other end denies it
  not judged here   neither end is a pod of this node: ask on the node that is named

Where this machine has neither an agent nor rules, the nodes of both ends are asked, in the pods of their agents.

Exit code 1 where this kernel does not do what policy demands of it, 0 also where no policy could be read; 2: error.

  sluice trace guest/visitor shop/db:5432
  sluice trace deploy/web svc/api:80 -n shop  one pod of each, which a note names
  sluice trace 10.244.1.66 [fd00::7]:53/UDP
  sluice trace shop/web example.com:443      the latest address that a DNS answer gave the pod`;

const INSPECT_HELP = `
Exit code 1 where the actual state is not the desired one; 0 where it is, and also where no desired state could be read:
then the last line is "not compared", and in JSON "equal" is null. 2: error. Where this machine has neither an agent nor rules,
the node of the pod is asked, else all nodes, in the pods of their agents.

  sluice inspect                             all pods of this node that a policy selects
  sluice inspect deploy/web -n shop          its pods, each on its node, which a note names
  sluice inspect 'NetworkPolicy shop/web'    what is programmed by a policy; shop/web is a pod, shop a namespace
  sluice inspect --manifests k8s/ --node n1  compared with a folder`;

export function addDrops(sluice: Command, { drops }: NodeActions): void {
  withAgents(
    withEnds(
      sluice
        .command('drops')
        .description('show the connections that this node denied: who, where to, and which policy')
        .option('-f, --follow', 'those that come, from now on')
        .addOption(duration('--since <time>', 'those of this time, also with --follow: 90s, 10m, 24h'))
        .addOption(lastOption('with --follow too: begin with so many, the latest')),
    ).option('--policy <name>', 'only what this policy denied (shop/web, web, cnp:platform)', collect),
  )
    .addOption(output('wide'))
    .addHelpText('after', DROPS_HELP)
    .action(drops);
}

function lastOption(description: string): Option {
  return new Option('--last <number>', description).argParser(text => {
    const count = Number(text);
    if (!(Number.isInteger(count) && count > 0)) throw new InvalidArgumentError('It is no number of lines.');
    return count;
  });
}

/**
 * Options that limit connections to some: all of those that are given. One that is given more than once has several
 * values.
 */
function withEnds(command: Command): Command {
  return withNamespace(command, 'only where one end is in this namespace', collect)
    .option(
      '--pod <end>',
      'only where one end is this: web, shop/web, shop/deploy/web, app=web, node/n1, an address',
      collect,
    )
    .option('--from <end>', 'only where this is the source', collect)
    .option('--to <end>', 'only where this is the destination; also a domain name', collect)
    .addOption(new Option('--port <number>', 'only to this port').argParser(portNumbers))
    .option('--protocol <name>', 'only over this: tcp, udp, sctp, icmp, icmpv6, or a number', collect);
}

function portNumbers(text: string, before: readonly string[] = []): readonly string[] {
  const port = Number(text.replace(/^!/, ''));
  if (!(Number.isInteger(port) && port > 0 && port < 65_536))
    throw new InvalidArgumentError('It is no port.');
  return [...before, text];
}

const FILTERS_HELP = `
All filters have to match. One that is given more than once matches any of its values, and '!' before a value all others
(in quotes, for the shell): --to '!kube-system/k8s-app=kube-dns'.
`;

const DROPS_HELP = `
A line is one connection attempt; what is sent again, and attempts of the same second that look the same, are counted with it.
How many are named is limited, for each source and in all (sluice agent --denials): the last line says what was left out, and a
note of each node where all are asked. On a terminal that is too narrow, lines are shortened; -o wide has whole sentences.
See docs/drops.md.
${FILTERS_HELP}
Where no agent is on this machine, all agents of the cluster are asked, each in its pod, with your own rights: you need to
list pods and to create pods/exec in their namespace.

Exit code 0, also where nothing was denied. 2: error; also where a cluster is asked without --follow, and an agent did not answer.

  sluice drops --last 20                     the latest that this node denied
  sluice drops --since 10m --follow -n shop  of a namespace, ten minutes back and as it comes
  sluice drops --from shop/deploy/web --port 53
  sluice drops --policy shop/db -o json      what one policy denied, for programs`;

// What runs on a node: status, uninstall.

export function addNode(sluice: Command, actions: NodeActions): void {
  addStatus(sluice, actions);
  addUninstall(sluice, actions);
}

function addStatus(sluice: Command, actions: NodeActions): void {
  withAgents(
    sluice
      .command('status')
      .description('say how the running agent and the pod network of its node are; exit code 1 if not ready'),
    'of a cluster: ask the agent of this node alone, and show all its lines',
  )
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
        "wait until this node's agent, which is being stopped, has ended, for as long as it may take",
      )
        .argParser(seconds)
        .conflicts('allNodes'),
    )
    .option('--cni-bin-dir <dir>', "also remove sluice-cni from the runtime's folder of plugins")
    .option('--cni-conf-dir <dir>', "also remove Sluice's list from the runtime's folder of lists")
    .addHelpText('after', UNINSTALL_HELP)
    .action(actions.uninstall);
}

/** Accepts names that the API server accepts: any other text could be the path of another kind of object. */
function namespace(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError('It is not a name of a namespace.');
  return text;
}

const STATUS_HELP = `
Where no agent is on this machine, all agents of the cluster are asked: a line for each node, and what is wrong there.

Exit code 0: ready; 1: not ready; 2: error, as where no agent answers, or a node of the cluster gave no answer.

  sluice status
  sluice status --node node1                 all lines of one node of the cluster
  sluice status -o json | jq .ready`;

const UNINSTALL_HELP = `
On a node it removes the tables of Sluice, and what attached pods had from it: their interfaces and the node's routes to
other nodes' pods. No agent may run there. Exit code 1 where something could not be removed, or a node was away; 2: error.

  sluice uninstall                          this node
  sluice uninstall --all-nodes              the cluster of your kubeconfig
  sluice uninstall --all-nodes -n platform  agents that run in namespace platform
  sluice uninstall --all-nodes -f daemonset/install.yaml  somebody deleted the agents, and left what they made`;

export function addFlows(sluice: Command, { flows }: NodeActions): void {
  withAgents(
    withEnds(
      sluice
        .command('flows')
        .description('show the new connections of this node: who, where to, and those that were denied')
        .option('-f, --follow', 'until you end it')
        .addOption(duration('--for <time>', 'how long to look, without --follow: 30s, 5m').default(10, '10s'))
        .addOption(lastOption('only so many, the latest, at the end').conflicts('follow'))
        .addOption(new Option('--since <time>', 'there are none').hideHelp().argParser(refuseSince)),
    ),
  )
    .addOption(output('wide'))
    .addHelpText('after', FLOWS_HELP)
    .action(flows);
}

function refuseSince(): never {
  throw new InvalidArgumentError(
    'New connections are not kept: sluice drops --since has the denied ones, and sluice record keeps all from now on.',
  );
}

const FLOWS_HELP = `
The kernel tells of new connections for as long as somebody asks, and of none before. What comes faster than the agent
reads is lost, and counted: the last line says how many, and notes of each node where all are asked. Both nodes of a connection
are one line. On a terminal that is too narrow, lines are shortened; -o wide has whole sentences. See docs/flows.md.
${FILTERS_HELP}
Where no agent is on this machine, all agents of the cluster are asked, as by sluice drops.

Exit code 0, also where nothing came. 2: error; also where a cluster is asked without --follow, and an agent did not answer.

  sluice flows --for 30s                     half a minute of this node
  sluice flows --follow --pod shop/web       of a pod, until you end it
  sluice flows --follow --port '!53'         all but DNS`;
