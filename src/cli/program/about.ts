/** About the program itself. */
import type { Command } from 'commander';
import { output } from './options.ts';

export function addAbout(sluice: Command): void {
  sluice
    .command('version')
    .description('show the version of the program, of Node.js, and of the JSON that it prints')
    .addOption(output())
    .action(async options => (await import('../version.ts')).versionCommand(options));

  sluice
    .command('completion')
    .description('print a script that completes commands and options: bash, zsh or fish')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', '\n  source <(sluice completion bash)')
    .action(async shell => (await import('../completion.ts')).completionCommand(sluice, shell));
}
