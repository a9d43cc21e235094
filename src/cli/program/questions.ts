/** The commands about a whole cluster: who reaches whom, what a change changes, whether it is as expected. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { shellWord } from '../../lib/text/shellword.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import {
  agentsAsked,
  apiServerAsked,
  collect,
  ingressController,
  masqueradeAsked,
  output,
  unknownPodsAsked,
  withScope,
  withSources,
} from './options.ts';

export function addClusterCommands(sluice: Command): void {
  addMatrix(sluice);
  addDiff(sluice);
  addTest(sluice);
}

function addMatrix(sluice: Command): void {
  withSources(
    sluice
      .command('matrix')
      .description('show who reaches whom on which ports, by workload, and what may come'),
  )
    .addOption(unknownPodsAsked())
    .addOption(agentsAsked())
    .addOption(apiServerAsked())
    .addOption(ingressController())
    .addOption(output('csv', 'md', 'dot', 'html', 'page'))
    .addHelpText('after', MATRIX_HELP)
    .allowExcessArguments() // each of its sisters takes paths as they are
    .action(async (options, { args }: Command) => {
      if (args.length > 0) throw new CommandError(pathText(args));
      await (await import('../matrix.ts')).matrixCommand(options);
    });
}

/** `sluice check PATH` has taught it. */
function pathText(paths: readonly string[]): string {
  const words = paths.map(path => `--manifests ${shellWord(path)}`).join(' ');
  return `to read manifests, write their path behind --manifests: sluice matrix ${words}`;
}

const MATRIX_HELP = `
Exact: every port, protocol and address is in it, over IPv4 and IPv6. Ends that policy treats alike are one line. With
-n or -l: what the workloads of that namespace, or of those labels, reach, and who reaches them.

Ingresses, routes of Gateways and Routes are listed with both connections that they stand for: from outside to the pods
of their controller, and from there to the pods behind. docs/matrix.md says how the controller is found.

Exit code 0; 2: error or undecided, as where there is no pod and no workload, or policies that you may not read. Of your own
namespace, only connections with others are undecided then (docs/workstation.md).

  sluice matrix --manifests ./policies
  sluice matrix --manifests . --ingress-controller ingress/app=traefik
  helm template . | sluice matrix --manifests -
  sluice matrix -n shop -o html > shop.html
  sluice matrix --manifests . -o page > page.html     to look around in, ask, and edit (docs/page.md)`;

function addDiff(sluice: Command): void {
  withScope(
    sluice
      .command('diff')
      .description('say which connections open and close between two clusters, and which policies do it')
      .argument('<old>', 'a folder or file of manifests, - for standard input, @cluster or @agent')
      .argument('<new>', 'the same, as it will be'),
  )
    .addOption(
      new Option(
        '--with <path>',
        'what both have: objects of <old> and of <new> count before those of the same name here',
      ).argParser(collect),
    )
    .option(
      '--connections <file>',
      'say which of these would be cut: what `conntrack -L` prints, FROM TO a line, or @agent for those that are open ' +
        'now on this node (the default where <old> is @agent)',
    )
    .addOption(
      new Option('--recorded <file>', 'the same of what `sluice record` wrote; may be given more than once')
        .argParser(collect)
        .conflicts('connections'),
    )
    .option('--kubeconfig <file>', "for @cluster (default: kubectl's own)")
    .option('--context <name>', 'for @cluster: the context of the kubeconfig')
    .option('--socket <path>', 'for @agent: its unix socket (default: /run/sluice/sluice.sock)')
    .addOption(unknownPodsAsked())
    .addOption(agentsAsked())
    .addOption(output('wide', 'md'))
    .addHelpText('after', DIFF_HELP)
    .action(async (old, now, options) => (await import('../diff/diff.ts')).diffCommand(old, now, options));
}

const DIFF_HELP = `
Exact, over all ports, protocols and addresses, IPv4 and IPv6. Pods are compared with themselves; where a workload has
other pods now, what some of them may do counts. With -n or -l: what changes for the workloads of that namespace, or of
those labels. Of many changes the first are shown, below what each workload loses and gains; -o wide lists all, and the
policies that decide them before and after.

Exit code 0: no connection opens or closes; 1: one does; 2: error or undecided.

  sluice diff main/policies policies --with cluster.yaml
  git show main:policies.yaml | sluice diff - policies.yaml --with cluster.yaml
  sluice diff @cluster policies --with @cluster      what \`kubectl apply -f policies\` would change
  sluice diff @agent policies --with @agent          also which connections of this node's pods it would cut
  conntrack -L | sluice diff @cluster policies --with @cluster --connections -`;

function addTest(sluice: Command): void {
  withSources(
    sluice
      .command('test')
      .description('say whether connections are allowed and denied as a file expects')
      .argument('<files...>', 'files of expected flows, folders with *.test.yaml, or - for standard input'),
  )
    .addOption(unknownPodsAsked())
    .addOption(agentsAsked())
    .addOption(masqueradeAsked())
    .addOption(apiServerAsked())
    .addOption(output('junit'))
    .addHelpText('after', TEST_HELP)
    .action(async (files, options) => (await import('../test/test.ts')).testCommand(files, options));
}

const TEST_HELP = `
A file names its manifests and what it expects; ends are those of sluice explain (docs/test.md has all there is):

  title: The shop
  manifests: [cluster.yaml, policies.yaml]
  flows:
    - guest/visitor -> shop/web:80 allow
    - shop/web -> shop/db:5432 deny

An expectation holds where every address and endpoint that is meant has the verdict. A file without manifests is asked of
those of the command line, or of the cluster.

Exit code 0: all is as expected; 1: something is not; 2: error or undecided.

  sluice test tests
  sluice test tests -o junit > report.xml
  sluice test tests/shop.test.yaml --context staging`;

export function addCheck(sluice: Command): void {
  sluice
    .command('check')
    .description('list every problem of manifests, by file, object and field')
    .argument('<paths...>', 'folders and files of Kubernetes manifests, - for standard input')
    .option('--strict', 'exit code 1 for warnings too')
    .option('--each', 'judge each path as a cluster of its own')
    .option('--fix', 'edit the files where a warning has one fix, and check them again')
    .addOption(
      new Option(
        '--render',
        'render charts and kustomizations with the helm and kustomize (or kubectl) of your PATH, without a network',
      ).conflicts('fix'),
    )
    .option(
      '--accept <warning>',
      'leave out warnings of a kind, or of one object: empty-subject:NetworkPolicy shop/web',
      collect,
    )
    .option('-n, --namespace <name>', 'the namespace of manifests that say none')
    .addOption(output('junit', 'sarif'))
    .addHelpText('after', CHECK_HELP)
    .action(async (paths, options) => (await import('../check.ts')).checkCommand(paths, options));
}

const CHECK_HELP = `
All paths together are one cluster; with --each, each is one of its own. An error is what the API server would refuse, or Sluice cannot read; a warning is
what may not mean what its author believes, or what newer API servers refuse, with its kind in brackets; docs/check.md
has a bad and a good example of each. A folder may be the root of a repository: what is no Kubernetes object is left
out, and so are node_modules, what a .gitignore names, patches of kustomizations and charts that are not rendered. An
object in several folders counts once, as the first of them has it; where they differ that is noted. --render reads what
charts and kustomizations come to, in place of their files. The last line counts what was read and what was left out.

Exit code 0: no error; 1: an error, or with --strict a warning; 2: error.

  sluice check k8s/
  helm template . | sluice check --strict -n shop -
  sluice check . --render
  sluice check --each apps/*
  sluice check . -o sarif > sluice.sarif
  sluice check k8s/ --accept empty-subject --accept 'other-engine:CiliumNetworkPolicy shop/web'`;

export function addCoverage(sluice: Command): void {
  withSources(
    sluice
      .command('coverage')
      .description('say which workloads no policy isolates, and which policies and rules are about nobody'),
  )
    .addOption(new Option('--min <percent>', 'exit code 1 where fewer are isolated').argParser(percent))
    .addOption(
      new Option('--direction <direction>', 'only this one (default: both)').choices(['ingress', 'egress']),
    )
    .addOption(output('junit', 'sarif'))
    .addHelpText('after', COVERAGE_HELP)
    .action(async options => (await import('../coverage.ts')).coverageCommand(options));
}

function percent(text: string): number {
  const value = Number(text.replace(/%$/, ''));
  if (text === '' || !(value >= 0 && value <= 100)) throw new InvalidArgumentError('It is not a percentage.');
  return value;
}

const COVERAGE_HELP = `
A workload is isolated in a direction where a policy in force denies what no rule allows, and no rule allows everything.
--min counts for each direction, over all namespaces, or that of -n.

Exit code 0; 1: less than --min; 2: error, as where there is no pod and no workload, or policies that you may not read.

  sluice coverage --manifests k8s/
  sluice coverage --manifests . --direction ingress --min 90
  sluice coverage --context staging -n shop -o json`;

export function addExplain(sluice: Command): void {
  withSources(
    sluice
      .command('explain')
      .description('say what policy decides for a connection, and why')
      .argument('[from]', 'who opens it: a pod, a workload, a node, an address … (see below)')
      .argument('[to]', 'who is meant to answer: these, or a Service; then [:port[/protocol]]'),
  )
    .addOption(new Option('--dump <file>', 'ask of what `sluice inspect dump` wrote').conflicts('manifests'))
    .option(
      '--flows <file>',
      "many connections, one a line: FROM TO[:PORT[/PROTOCOL]]; '-' reads standard input",
    )
    .addOption(unknownPodsAsked())
    .addOption(masqueradeAsked())
    .addOption(apiServerAsked())
    .addOption(ingressController())
    .option(
      '--fix',
      'propose the smallest change that would allow it, an edit where a policy seems to be mistyped, and say what else it opens; -o yaml: for kubectl apply',
    )
    .addOption(new Option('--fix-deny', 'the same of what would deny it').conflicts('fix'))
    .addOption(agentsAsked())
    .addOption(output('wide'))
    .addHelpText('after', EXPLAIN_HELP)
    .action(async (from, to, options) => (await import('../explain.ts')).explainCommand(from, to, options));
}

const EXPLAIN_HELP = `
FROM and TO are
  shop/web  web              a pod (of the namespace of -n, else default); where there is none, the only workload of
                             that name, else the Service
  deploy/web  shop/sts/db    the pods of a workload, or of its template where it has none (sts, ds, job, cronjob, rs;
                             shop/rollout/web: of any kind whose template has labels and containers)
  svc/api:80  10.96.0.7:80   a Service by name or address: each endpoint that would answer is judged
  svc/kubernetes.default:443  the API server, by its endpoints: also FROM, as it calls webhooks
  api.shop:80  db-0.db.shop.svc:5432  the same, and one pod behind it, as the cluster's DNS has them
  node/worker-1              a node; what has its network is the node, to policy
  10.0.0.7  [fd00::7]:80     an address; internet is all that are public, example.com whatever one it has
  shop/app=web,tier=front    a pod of these labels that is not there yet
TO may end in :PORT (a number or a name) and /PROTOCOL. Both address families are judged, and the stricter verdict
counts.

From the internet or a public address, it also says through which ingress controllers TO is reached: that changes no
verdict.

Without a port it is ICMP that is asked about; with a port, TCP unless it says more: shop/db:53/UDP.
shop/web@6 asks about IPv6 alone. --flows also takes policy-assistant's traffic and probe JSON.

Exit code 0: allowed; 1: denied; 2: error or undecided (an address that may be a
Service's, a Service without endpoints, policies that may not or cannot be read, a
pod behind a node's port that sees the client or its node: see --masquerade).

  sluice explain deploy/web svc/api:80 -n shop         of the cluster that kubectl would ask
  sluice explain internet shop/web:443 --manifests k8s/
  helm template . | sluice explain shop/deploy/web shop/db:5432 --manifests -

The policies that select the pod are listed in order of precedence:
  no match      no rule of it matches
  decided       its rule, or that it selects the pod and allows nothing here, is the reason
  same verdict  it agrees with the policy that decided
  passed        its rule hands the decision on to the next tier
  nearly        a rule that would have allowed it, had one or two things been otherwise
  overridden    it would change the verdict, had the named policy before it not decided`;
