/** About the program itself. */
import type { Command } from 'commander';
import { output } from './options.ts';

export function addAbout(sluice: Command): void {
  addHelp(sluice);
  sluice
    .command('version')
    .description('show the version of the program, of Node.js, and of the JSON that it prints')
    .addOption(output())
    .addHelpText('after', VERSION_HELP)
    .action(async options => (await import('../version.ts')).versionCommand(options));

  sluice
    .command('completion')
    .description('print a script that completes commands and options: bash, zsh or fish')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', COMPLETION_HELP)
    .action(async shell => (await import('../completion.ts')).completionCommand(sluice, shell));
}

/** Replaces commander's own help command, which prints the general help for an unknown command. */
function addHelp(sluice: Command): void {
  sluice
    .helpCommand(false)
    .command('help')
    .description('show the help of a command, or the list of them')
    .argument('[command]', 'as explain; without it the list of all')
    .addHelpText('after', HELP_HELP)
    .action(async (name?: string) => {
      if (name === undefined) sluice.help();
      const known = sluice.commands.find(command => command.name() === name);
      if (known !== undefined) known.help();
      await sluice.parseAsync([name!], { from: 'user' }); // which refuses it, and names one that is near
    });
}

const HELP_HELP = `
Exit code 0; 2: error, as with a command that is not known.

  sluice help explain`;

const VERSION_HELP = `
Exit code 0; 2: error.

  sluice version
  sluice version -o json | jq -r .schema`;

const COMPLETION_HELP = `
Exit code 0; 2: error, as with a shell that is not known.

  source <(sluice completion bash)
  sluice completion fish > ~/.config/fish/completions/sluice.fish`;
