import type { Command } from 'commander';
import { output } from './options.ts';
import { collect } from './sourceoptions.ts';

export function addCheck(sluice: Command): void {
  sluice
    .command('check')
    .description('list every problem of manifests, by file, object and field')
    .argument('<paths...>', 'folders and files of Kubernetes manifests, - for standard input')
    .option('--strict', 'exit code 1 for warnings too')
    .option(
      '--accept <warning>',
      'leave out warnings of a kind, or of one object: empty-subject:NetworkPolicy shop/web',
      collect,
    )
    .option('-n, --namespace <name>', 'the namespace of manifests that say none')
    .addOption(output())
    .addHelpText('after', HELP)
    .action(async (paths, options) => (await import('../check.ts')).checkCommand(paths, options));
}

const HELP = `
All paths together are one cluster. An error is what the API server would refuse, or Sluice cannot read; a warning is
what may not mean what its author believes, with its kind in brackets.
Exit code 0: no error; 1: an error, or with --strict a warning; 2: trouble.

  sluice check k8s/
  helm template . | sluice check --strict -n shop -
  sluice check k8s/ --accept empty-subject --accept 'other-engine:CiliumNetworkPolicy shop/web'`;
