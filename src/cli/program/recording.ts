import { type Command, Option } from 'commander';
import type { NodeActions } from './nodeactions.ts';
import {
  apiServerAsked,
  collect,
  duration,
  ingressController,
  ofAgents,
  output,
  unknownPodsOption,
  withAgents,
  withNamespace,
  withoutOption,
  withSources,
} from './options.ts';

/** The commands about recorded connections: which there were, and how policies would have judged them. */
export function addRecording(sluice: Command, actions: NodeActions): void {
  addRecord(sluice, actions);
  addReplay(sluice);
  addAudit(sluice);
  addSuggest(sluice);
}

function addRecord(sluice: Command, { record }: NodeActions): void {
  withAgents(
    withNamespace(
      sluice
        .command('record')
        .description(
          'write the connections of this node, or of a whole cluster, into a file, to be judged by any policies',
        ),
      'only connections with an end in this namespace',
    )
      .argument('<file>', 'where to write it; - for standard output')
      .addOption(duration('--for <time>', 'how long: 90s, 10m, 24h; SIGINT ends it before').default(60, '1m'))
      .option('--force', 'replace a file that is there')
      .addOption(new Option('--known', 'only what the agent knows now').hideHelp()),
  )
    .addHelpText('after', RECORD_HELP)
    .action(record);
}

const RECORD_HELP = `
Who spoke to whom, on which ports, how often, first and last; no payload. Connections that are open when it begins are in it,
and denied ones. Names and labels of pods are: the file is for its owner alone. See docs/record.md.

Where no agent is on this machine, all agents of the cluster record, as sluice drops asks them, and the file is of all nodes.

Exit code 0: all was written; 2: error, also where all record and one was away for a while.

  sluice record --for 24h shop.rec
  sluice record --for 24h shop.rec --kubeconfig ~/.kube/config
  sluice record --for 24h shop.rec -n shop   only connections of its pods
  sluice replay shop.rec --manifests policies/`;

const OF_POD_NETWORKS =
  'what becomes of addresses of pod networks that no known pod has (default: as when it was recorded)';

function addReplay(sluice: Command): void {
  withSources(
    sluice
      .command('replay')
      .description('say which recorded connections policies allow and deny, and by which policy')
      .argument('<files...>', 'what sluice record wrote; several are one, - for standard input'),
  )
    .addOption(unknownPodsOption(OF_POD_NETWORKS))
    .addOption(output('wide'))
    .addHelpText('after', REPLAY_HELP)
    .action(async (files, options) => (await import('../recording/replay.ts')).replayCommand(files, options));
}

const REPLAY_HELP = `
Policies, and labels of namespaces, are those of the manifests or the cluster; pods, nodes and addresses are those of the
recording. Exit code 0: all are allowed; 1: some are denied; 2: error or undecided, also where a part is missing.

  sluice replay shop.rec --manifests policies/
  sluice replay node-*.rec --kubeconfig ~/.kube/config -o json`;

function addAudit(sluice: Command): void {
  ofAgents(
    withSources(
      sluice
        .command('audit')
        .description('say what audited policies would have denied and allowed')
        .argument('[policies...]', 'shop/db, cnp:platform; without any, all that are audited'),
    ),
  )
    .addOption(
      new Option('--recorded <file>', 'of this recording; without one, of what the agents know').argParser(
        collect,
      ),
    )
    .addOption(
      duration('--for <time>', 'without --recorded: look at new connections too, so long').default(0, 'none'),
    )
    .addOption(unknownPodsOption(OF_POD_NETWORKS))
    .addOption(output('wide'))
    .addHelpText('after', AUDIT_HELP)
    .action(async (policies, options) =>
      (await import('../recording/audit.ts')).auditCommand(policies, options),
    );
}

const AUDIT_HELP = `
A policy with the annotation sluice.dev/enforcement: audit is never in force: it protects nothing. Each is judged by itself
beside those in force, and all together. Without --recorded: connections that are open now and denials that the agent of
this node remembers; where no agent is on this machine, all agents of the cluster, as sluice drops asks them.

Exit code 0: nothing would have been denied; 1: something would; 2: error or undecided (a part is missing).

  sluice audit shop/db
  sluice audit -n shop --for 10m
  sluice audit --recorded shop.rec --manifests policies/`;

function addSuggest(sluice: Command): void {
  sluice
    .command('suggest')
    .description('write the least NetworkPolicies that allow what was recorded, or what manifests name')
    .option('-n, --namespace <name>', 'whose pods to isolate (default, of manifests: of all namespaces)')
    .addOption(
      new Option('--recorded <file>', 'what sluice record wrote; may be given more than once').argParser(
        collect,
      ),
    )
    .addOption(
      new Option(
        '--manifests <path>',
        'without traffic: what a folder or file of manifests, or - for standard input, names',
      )
        .argParser(collect)
        .conflicts('recorded'),
    )
    .addOption(apiServerAsked())
    .addOption(ingressController().conflicts('recorded'))
    .addOption(withoutOption().conflicts('recorded'))
    .addHelpText('after', SUGGEST_HELP)
    .action(async (options, command: Command) => {
      const { recorded, manifests, namespace } = options;
      if (!(recorded ?? manifests)) command.error('error: name --recorded FILE or --manifests PATH');
      if (recorded && !namespace) command.error('error: a recording needs -n NAMESPACE');
      await (await import('../recording/suggest.ts')).suggestCommand(options);
    });
}

const SUGGEST_HELP = `
One policy denies everything; one for the pods of each workload, or set of labels, allows the peers and ports that they
had. Each suggestion is judged again, and what it would still deny is a comment above it. Labels of one pod or revision,
such as pod-template-hash, are never in it.

Of manifests it guesses: from variables, arguments and ConfigMaps that name Services, from Ingresses, routes, Services
that are open to outside, ServiceMonitors, PodMonitors, webhooks, and bindings of service accounts. A comment at each
rule says from which object and field it came. All pods may ask DNS.

Exit code 0: all that was allowed, or guessed, would be; 1: something would not; 2: error or undecided (a part of the
recording is missing).

  sluice suggest -n shop --recorded shop.rec > shop-policies.yaml
  sluice replay shop.rec --manifests shop-policies.yaml
  helm template . | sluice suggest -n shop --manifests - > policies.yaml`;
