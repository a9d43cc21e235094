import type { Command } from 'commander';
import { output } from './options.ts';

export function addCheck(sluice: Command): void {
  sluice
    .command('check')
    .description('list every problem of a folder of manifests; exit code 1 if there is one')
    .argument('<dir>', 'folder (or file) of Kubernetes manifests')
    .addOption(output())
    .action(async (dir, options) => (await import('../check.ts')).checkCommand(dir, options));
}
