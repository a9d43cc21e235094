/** `npm run bench`: what rules, events and packets cost on this machine, beside budgets and floors. */
import { Command, Option } from 'commander';
import { run } from '../src/cli/program/run.ts';
import { VERSION } from '../src/cli/program/version.ts';
import { benchCommand } from './command.ts';
import { SUITES } from './suites.ts';

const HELP = `
Exit code 0: all budgets are kept; 1: one is missed; 2: error, as where nothing was measured.

  npm run bench -- explain matrix
  npm run --silent bench -- packets new -o json  the rows of a suite that have a word in their names`;

await run(
  new Command('bench')
    .description('measure what rules, events and packets cost here, beside budgets and floors (needs root)')
    .version(VERSION)
    .argument('[names...]', `suites (${SUITES.map(({ name }) => name).join(', ')}), then parts of rows`)
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'))
    .option('--json', 'the same as -o json')
    .option('--record', 'put the rows into bench/figures.yaml and docs/performance.md')
    .option('--verbose', 'say what every design of the packet benchmark took')
    .addHelpText('after', HELP)
    .exitOverride()
    .action(benchCommand),
);
