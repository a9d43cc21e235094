/**
 * The composition root: what each command needs is made here and in the command's own file, nowhere else.
 * Commands are loaded when they are asked for, so that the agent starts with nothing but its own parts.
 */

import '../daemon/stopsignal.ts'; // first: it must listen before all else is loaded

import { createRequire } from 'node:module';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { CommandError } from '../terminal/commanderror.ts';
import { writeNote } from '../terminal/output.ts';
import { addClusterCommands } from './clustercommands.ts';
import { endWithLauncher } from './launch.ts';
import { collect, withSources } from './sourceoptions.ts';

const output = () =>
  new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text');

const socket = (description: string) =>
  new Option('--socket <path>', description).default('/run/sluice/sluice.sock');

const unknownPods = (description: string) =>
  new Option('--unknown-pods <what>', description).choices(['deny', 'allow']);

function milliseconds(text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0))
    throw new InvalidArgumentError('not a number of milliseconds.');
  return value;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0)) throw new InvalidArgumentError('not a number of seconds.');
  return value;
}

const manifests = ['--manifests <dir>', 'folder (or file) of Kubernetes manifests'] as const;

function program(): Command {
  const sluice = new Command('sluice')
    .description('Kubernetes network policy on nftables: enforced by the node, explained to people')
    .version(createRequire(import.meta.url)('../../package.json').version)
    .showHelpAfterError('(run sluice --help for more)');

  sluice
    .command('agent')
    .description('run the node agent: program nftables from network policy')
    .addOption(
      new Option('--node <name>', 'name of the node whose pods to protect')
        .env('NODE_NAME')
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--kubeconfig <file>',
        'the cluster to follow; in a pod it is the one that runs it',
      ).conflicts('manifests'),
    )
    .option(manifests[0], `${manifests[1]} to follow instead of a cluster`)
    .addOption(new Option('--log-format <format>', 'log format').choices(['json', 'pretty']))
    .addOption(socket('unix socket to serve KNI, health and status on; none for no socket'))
    .option(
      '--metrics-address <host:port>',
      'where to serve /livez, /readyz and /metrics; none for nowhere',
      '127.0.0.1:9910',
    )
    .addOption(
      new Option('--live-connections <what>', 'what becomes of open connections that policy comes to deny')
        .choices(['cut', 'keep'])
        .default('cut'),
    )
    .addOption(
      new Option(
        '--pod-network <how>',
        'attach: attach pods ourselves, as a runtime asks by KNI or sluice-cni; chained: hear by sluice-cni of the pods that another plugin attaches',
      )
        .choices(['attach', 'chained', 'none'])
        .default('none'),
    )
    .option('--cni-bin-dir <dir>', "put sluice-cni into the runtime's folder of plugins")
    .option(
      '--cni-conf-dir <dir>',
      "with --pod-network=attach, put a list that names sluice-cni into the runtime's folder, as soon as pods can be attached",
    )
    .addOption(
      new Option(
        '--start-gate <how>',
        'hold each pod back until its rules are in force: nri, off, or nri where the runtime offers it',
      )
        .choices(['auto', 'nri', 'off'])
        .default('auto'),
    )
    .option('--nri-socket <path>', "the runtime's NRI socket", '/var/run/nri/nri.sock')
    .addOption(
      new Option('--start-gate-timeout <ms>', 'how long a pod is held back at most')
        .argParser(milliseconds)
        .default(1500),
    )
    .addOption(
      unknownPods(
        'what becomes of addresses of the pod network that no known pod has (default: deny with the gate)',
      ),
    )
    .action(async options => (await import('../daemon/agent.ts')).agentCommand(options));

  withSources(
    sluice
      .command('explain')
      .description('say what policy decides for a connection, and why')
      .argument('[from]', 'namespace/pod or an address')
      .argument('[to]', 'namespace/pod or an address, then [:port[/protocol]]'),
  )
    .addOption(new Option('--dump <file>', 'ask of what `sluice inspect dump` wrote').conflicts('manifests'))
    .option(
      '--flows <file>',
      "many connections, one a line: FROM TO[:PORT[/PROTOCOL]]; '-' reads standard input",
    )
    .addOption(
      unknownPods(
        'what becomes of addresses of pod networks that no known pod has (default: as the agent does)',
      ),
    )
    .addOption(output())
    .addHelpText('after', EXPLAIN_HELP)
    .action(async (from, to, options) => (await import('./explain.ts')).explainCommand(from, to, options));

  addClusterCommands(sluice);

  sluice
    .command('trace')
    .description('say what the kernel of this network namespace does with a connection, rule by rule')
    .argument('<from>', 'namespace/pod or an address')
    .argument('<to>', 'namespace/pod or an address, then [:port[/protocol]]')
    .option(manifests[0], `${manifests[1]}: ask them whether policy agrees, not the running agent`, collect)
    .option('--node <name>', 'which node of the manifests this is')
    .addOption(socket("the running agent's unix socket"))
    .addOption(output())
    .addHelpText('after', TRACE_HELP)
    .action(async (from, to, options) => (await import('./trace.ts')).traceCommand(from, to, options));

  const inspect = sluice
    .command('inspect')
    .description('show what is programmed in this network namespace, by pod and policy')
    .option(
      manifests[0],
      `${manifests[1]}: compare the kernel with them, not with the running agent`,
      collect,
    )
    .option('--node <name>', 'which node of the manifests this is')
    .addOption(socket("the running agent's unix socket"))
    .addOption(output())
    .addHelpText('after', INSPECT_HELP)
    .action(async options => (await import('./inspect.ts')).inspectCommand(options));

  inspect
    .command('dump')
    .description('state of the agent and of the kernel as one line of JSON: for a bug report')
    .addOption(socket("the running agent's unix socket"))
    .action(async (_, command) => (await import('./dump.ts')).dumpCommand(command.optsWithGlobals()));

  sluice
    .command('check')
    .description('list every problem of a folder of manifests; exit code 1 if there is one')
    .argument('<dir>', 'folder (or file) of Kubernetes manifests')
    .addOption(output())
    .action(async (dir, options) => (await import('./check.ts')).checkCommand(dir, options));

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
    .action(async options => {
      const { explainCommand } = await import('./explain.ts');
      const explain = (from: string, to: string, manifests: string) =>
        explainCommand(from, to, { manifests: [manifests], output: 'text' });
      await (await import('../demo/demo.ts')).demoCommand(options, explain);
    });

  sluice
    .command('status')
    .description('say how the running agent and the pod network of its node are; exit code 1 if not ready')
    .addOption(socket("the agent's unix socket"))
    .addOption(output())
    .action(async options => (await import('./status.ts')).statusCommand(options));

  sluice
    .command('bench')
    .description('measure what rules, events and packets cost here, beside budgets and floors (needs root)')
    .argument(
      '[names...]',
      'suites (compile, memory, events, start, commit, packets, conntrack, attach), then parts of rows',
    )
    .addOption(output())
    .option('--json', 'the same as -o json')
    .option('--verbose', 'say what every design of the packet benchmark took')
    .action(async (names, options) => (await import('./bench.ts')).benchCommand(names, options));

  sluice
    .command('uninstall')
    .description('remove what Sluice made on this node, or on all nodes of a cluster with its agents')
    .option('--all-nodes', 'end the agents of the cluster, clean each node, and say which were away')
    .option('-n, --namespace <name>', "with --all-nodes: the agents' namespace", 'sluice')
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
    .option('--cni-bin-dir <dir>', "also remove sluice-cni from the runtime's folder of plugins")
    .option('--cni-conf-dir <dir>', "also remove Sluice's list from the runtime's folder of lists")
    .addHelpText('after', UNINSTALL_HELP)
    .action(async options => (await import('./uninstall/uninstall.ts')).uninstallCommand(options));

  return sluice;
}

const EXPLAIN_HELP = `
Without a port it is ICMP that is asked about; with a port, TCP unless it says more: shop/db:53/UDP.
shop/web@6 asks about the pod's IPv6 address. An address of no pod is somebody outside, or a
node. A Service has no verdict of its own, nor has a host port: policy sees the pod that it
leads to, so ask for that pod ("note" in JSON says where an address may be one).

The policies that select the pod are listed in order of precedence:
  no match      no rule of it matches
  decided       its rule, or that it selects the pod and allows nothing here, is the reason
  same verdict  it agrees with the policy that decided
  passed        its rule hands the decision on to the next tier
  overridden    it would change the verdict, had the named policy before it not decided`;

const TRACE_HELP = `
Each end is judged on the node of its pod. The first word says what becomes of the connection ("outcome" in JSON, null
where no policy could be read; "elsewhere" has the other nodes that judge it, and what policy has them say):
  accept, drop      what this kernel does; "verdict" in JSON is this alone
  denied elsewhere  this node lets it pass, the node of the other end denies it
  not judged here   neither end is a pod of this node: ask on the node that is named

Exit code 1 where this kernel does not do what policy demands of it, 0 also where no policy could be read.`;

const INSPECT_HELP = `
Exit code 1 where the actual state is not the desired one; 0 where it is, and also where no desired state could be read:
then the last line is "not compared", and in JSON "equal" is null.`;

const UNINSTALL_HELP = `
On a node it removes the tables of Sluice, and what attached pods had from it: their interfaces and the node's routes to
other nodes' pods. No agent may run there. Exit code 1 where something could not be removed, or a node was away.

  sluice uninstall                          this node
  sluice uninstall --all-nodes              the cluster of your kubeconfig
  sluice uninstall --all-nodes -n platform  agents that run in namespace platform`;

/** Anything that a person can mend is one sentence and exit code 1; a bug keeps its stack. */
function report(error: unknown): void {
  if (error instanceof CommanderError || error instanceof InvalidArgumentError) return;
  const named = error instanceof CommandError || (error instanceof Error && error.name === 'KernelError');
  const [first = '', ...rest] = named ? [(error as Error).message] : stackOf(error).split('\n');
  for (const line of [`sluice: ${first}`, ...rest]) writeNote(line);
  process.exitCode = 1;
}

function stackOf(error: unknown): string {
  return (error instanceof Error ? error.stack : undefined) ?? String(error);
}

endWithLauncher();

// A reader that had enough (`sluice … | head`) is no error.
process.stdout.on('error', error => {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(0);
  throw error;
});

await program().parseAsync().catch(report);
