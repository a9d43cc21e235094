/** Where a question gets its cluster from: the same options for every command that asks one. */
import { type Command, Option } from 'commander';

/** Each time the option is given one more. */
export function collect(path: string, before: readonly string[] = []): readonly string[] {
  return [...before, path];
}

/** `cli/sources/options.ts` says what comes of them. */
export function withSources(command: Command): Command {
  return withScope(withClusters(command));
}

function withClusters(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--manifests <path>',
        'a folder or file of Kubernetes manifests, or - for standard input; may be given more than once',
      ).argParser(collect),
    )
    .addOption(
      new Option('--kubeconfig <file>', "the cluster of this kubeconfig (default: kubectl's own)").conflicts(
        'manifests',
      ),
    )
    .addOption(
      new Option('--context <name>', 'the cluster of this context of the kubeconfig').conflicts('manifests'),
    )
    .addOption(
      new Option(
        '--socket <path>',
        "the running agent's unix socket (default: /run/sluice/sluice.sock, where it is there)",
      ).conflicts(['manifests', 'kubeconfig', 'context']),
    );
}

/** What an answer is about. */
export function withScope(command: Command): Command {
  return command
    .option(
      '-n, --namespace <name>',
      'the namespace of names and manifests that say none, and that lists are about',
    )
    .option('-A, --all-namespaces', 'lists are about all namespaces')
    .option('-l, --selector <labels>', 'lists are about these: app=web,tier in (a, b),!legacy');
}
