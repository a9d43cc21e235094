/** Options that several commands have. */
import { type Command, InvalidArgumentError, Option } from 'commander';

/** The output formats of a command in addition to text: yaml and json are for programs, and wide shortens nothing. */
export const output = (...others: readonly string[]) =>
  new Option('-o, --output <format>', 'output format')
    .choices(['text', ...others, 'json', 'yaml'])
    .default('text');

export const socketOption = (description: string) =>
  new Option('--socket <path>', description).default('/run/sluice/sluice.sock');

/** The agents that are asked: that of this node, or those of a cluster. */
export function withAgents(
  command: Command,
  node = 'of a cluster: ask the agent of this node alone',
): Command {
  return ofAgents(command, node)
    .addOption(
      new Option(
        '--socket <path>',
        "the agent's unix socket (default: /run/sluice/sluice.sock, where it is there)",
      ).conflicts(['kubeconfig', 'context']),
    )
    .option(
      '--kubeconfig <file>',
      "all agents of this cluster (default: kubectl's own, where no agent is here)",
    )
    .option('--context <name>', 'all agents of the cluster of this context')
    .addOption(new Option('--remote', 'asked by a prompt elsewhere').hideHelp());
}

/** Which agents of a cluster, for a command that has its own options for the cluster. */
export function ofAgents(command: Command, node = 'of a cluster: ask the agent of this node alone'): Command {
  return command
    .option('--node <name>', node)
    .option('--agents <namespace>', 'the namespace that the agents of a cluster run in', 'sluice');
}

/** The namespace of the agents, for questions that read what these do. */
export const agentsAsked = () =>
  new Option(
    '--agents <namespace>',
    'the namespace of the agents of a cluster: what they were started with, and know, may change the answer',
  ).default('sluice');

/** `--node` where manifests may stand for the cluster. */
export const NODE_OR_MANIFESTS =
  'of a cluster: ask the agent of this node alone; with --manifests: which node of them this is';

/** The namespace of what a command shows; `collected` where several may be given. */
export function withNamespace(command: Command, description: string, collected?: typeof collect): Command {
  const namespace = new Option('-n, --namespace <name>', description);
  return command
    .addOption(collected === undefined ? namespace : namespace.argParser(collected))
    .option('-A, --all-namespaces', 'all namespaces; then -n is about names alone');
}

export const unknownPodsOption = (description: string) =>
  new Option('--unknown-pods <what>', description).choices(['deny', 'allow']);

/** The option of questions; that of `sluice agent` has other words. */
export const unknownPodsAsked = () =>
  unknownPodsOption(
    'what becomes of addresses of pod networks that no known pod has (default: as the agents do, if that is known)',
  );

/** Who serves Ingresses and routes, where it is not known. */
export const ingressController = () =>
  new Option(
    '--ingress-controller <end>',
    'the pods that serve Ingresses and routes: a pod, a workload or labels, as NAMESPACE/NAME or NAMESPACE/app=NAME (default: as classes and labels say); may be given more than once',
  ).argParser(collect);

/** Only where a connection may go to a port of a node. */
export const masqueradeAsked = () =>
  new Option(
    '--masquerade <what>',
    'whether the pod network masquerades what pods send to nodes, as Flannel and kindnet do (default: not known)',
  ).choices(['yes', 'no']);

/** Only manifests without the API server's EndpointSlice need it. */
export const apiServerAsked = () =>
  new Option(
    '--api-server <address>',
    'an endpoint of the API server, as 172.18.0.2:6443; may be given more than once (default: as its EndpointSlice says)',
  ).argParser(collect);

export const manifestsOption = ['--manifests <dir>', 'folder (or file) of Kubernetes manifests'] as const;

export function seconds(text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0))
    throw new InvalidArgumentError('It is not a number of seconds.');
  return value;
}

export function duration(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parseDuration);
}

/** A duration in seconds. */
function parseDuration(text: string): number {
  const [, number = '', unit = 's'] = /^(\d{1,6})([smhd]?)$/.exec(text) ?? [];
  const value = Number(number) * { s: 1, m: 60, h: 3_600, d: 86_400 }[(unit || 's') as 's' | 'm' | 'h' | 'd'];
  // A timer takes no more.
  if (!(value > 0 && value <= 2_000_000)) throw new InvalidArgumentError('Write it as 90s, 10m or 24h.');
  return value;
}

// The sources of a question: the same options for every command that asks one.

/** Collects the values of an option that may be repeated. */
export function collect(path: string, before: readonly string[] = []): readonly string[] {
  return [...before, path];
}

/** `src/cli/sources/state.ts` has their types. */
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

/** For everything that is judged by policies. */
export const withoutOption = () =>
  new Option(
    '--without <policy>',
    'answer as if this policy did not exist: shop/db, cnp:platform; may be given more than once',
  ).argParser(collect);

/** Options that limit what an answer is about. */
export function withScope(command: Command): Command {
  return command
    .option(
      '-n, --namespace <name>',
      'the namespace of names and manifests that say none, and that lists are about',
    )
    .option('-A, --all-namespaces', 'lists are about all namespaces')
    .option('-l, --selector <labels>', 'lists are about these: app=web,tier in (a, b),!legacy')
    .addOption(withoutOption());
}
