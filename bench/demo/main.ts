/** `scripts/demo` starts this, once it has installed what it needs. */
import { Command, Option } from 'commander';
import { explain } from '../../src/cli/explain.ts';
import { run } from '../../src/cli/program/run.ts';
import { type DemoOptions, demoCommand } from './demo.ts';

const HELP = `
Exit code 0: everything was as expected; 2: it was not, or there was an error.

  scripts/demo
  scripts/demo --keep     leaves it running, for edits of its manifests
  scripts/demo --again    tries all once more`;

await run(
  new Command('demo')
    .description('two nodes, a shop and a visitor as network namespaces: policy on real packets (needs root)')
    .option('--keep', 'leave the demo running and show what to try')
    .addOption(
      new Option(
        '--again',
        'try the board once more over what --keep left, and over your edits of its manifests',
      ).conflicts(['keep', 'remove']),
    )
    .addOption(new Option('--remove', 'remove what an earlier --keep left').conflicts('keep'))
    .addHelpText('after', HELP)
    .exitOverride()
    .action((options: DemoOptions) =>
      demoCommand(
        options,
        async (from, to, manifests) =>
          void (await explain(from, to, { manifests: [manifests], output: 'text' })),
      ),
    ),
);
