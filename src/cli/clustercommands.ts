/** The commands about a whole cluster: who reaches whom, what a change changes, whether it is as expected. */
import { type Command, Option } from 'commander';
import { withSources } from './sourceoptions.ts';

const MATRIX_FORMATS = ['text', 'json', 'csv', 'md', 'dot', 'html'];

export function addClusterCommands(sluice: Command): void {
  addMatrix(sluice);
}

const unknownPods = () =>
  new Option(
    '--unknown-pods <what>',
    'what becomes of addresses of pod networks that no known pod has (default: as the agent does)',
  ).choices(['deny', 'allow']);

const output = (formats: readonly string[]) =>
  new Option('-o, --output <format>', 'output format').choices(formats).default('text');

function addMatrix(sluice: Command): void {
  withSources(
    sluice
      .command('matrix')
      .description('show who reaches whom on which ports, by workload, and what may come'),
  )
    .addOption(unknownPods())
    .addOption(output(MATRIX_FORMATS))
    .addHelpText('after', MATRIX_HELP)
    .action(async options => (await import('./matrix/matrix.ts')).matrixCommand(options));
}

const MATRIX_HELP = `
Exact: every port, protocol and address is in it, over IPv4 and IPv6. Ends that policy treats alike are one line. With
-n or -l: what the workloads of that namespace, or of those labels, reach, and who reaches them.

  sluice matrix --manifests ./policies
  helm template . | sluice matrix --manifests -
  sluice matrix -n shop -o html > shop.html`;
