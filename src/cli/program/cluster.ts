/** The commands about a whole cluster: who reaches whom, what a change changes, whether it is as expected. */
import { type Command, Option } from 'commander';
import { CommandError } from '../../terminal/commanderror.ts';
import { output, unknownPodsAsked } from './options.ts';
import { collect, withScope, withSources } from './sourceoptions.ts';

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
    .addOption(output('csv', 'md', 'dot', 'html'))
    .addHelpText('after', MATRIX_HELP)
    .allowExcessArguments() // each of its sisters takes paths as they are
    .action(async (options, { args }: Command) => {
      if (args.length > 0) throw new CommandError(`matrix takes no path as it is: --manifests ${args[0]}`);
      await (await import('../matrix/matrix.ts')).matrixCommand(options);
    });
}

const MATRIX_HELP = `
Exact: every port, protocol and address is in it, over IPv4 and IPv6. Ends that policy treats alike are one line. With
-n or -l: what the workloads of that namespace, or of those labels, reach, and who reaches them.

Exit code 0; 2: trouble, as where there is no pod and no workload, or policies that you may not read: nobody can say.

  sluice matrix --manifests ./policies
  helm template . | sluice matrix --manifests -
  sluice matrix -n shop -o html > shop.html`;

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
    .addOption(output('md'))
    .addHelpText('after', DIFF_HELP)
    .action(async (old, now, options) => (await import('../diff/diff.ts')).diffCommand(old, now, options));
}

const DIFF_HELP = `
Exact, over all ports, protocols and addresses, IPv4 and IPv6. Pods are compared with themselves; where a workload has
other pods now, what some of them may do counts. With -n or -l: what changes for the workloads of that namespace, or of
those labels.

Exit code 0 where no connection opens or closes, 1 where one does, 2 where that cannot be said.

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

Exit code 0 where all is as expected, 1 where something is not, 2 where something could not be judged.

  sluice test tests
  sluice test tests -o junit > report.xml
  sluice test tests/shop.test.yaml --context staging`;
