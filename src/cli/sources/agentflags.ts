/**
 * What the agents of a live cluster do with unknown pods (N67) and with tunnels of pods (N72), as their DaemonSets say:
 * the flags are read by the same parser as the agent's own. Only the namespace of the agents counts. Whoever may change
 * DaemonSets there may change the agents; a DaemonSet elsewhere says nothing, whatever its labels are, and neither does
 * one without pods on the network of every node. What is not understood is not known.
 */
import { Command } from 'commander';
import { type AgentCommandOptions, checkOptions } from '../../daemon/options.ts';
import { startGateConfig } from '../../daemon/pods/startgateconfig.ts';
import { type Api, ApiError } from '../../inputs/kube/client/api.ts';
import { namespacedResource } from '../../inputs/kube/once/askedresources.ts';
import { asMap, asMaps } from '../../inputs/kube/report/identity.ts';
import { listPages } from '../../inputs/kube/watch/listpage.ts';
import type { Resource } from '../../inputs/kube/watch/resource.ts';
import { isSameList } from '../../lib/collections/samelist.ts';
import { isText } from '../../lib/text/istext.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { addAgent } from '../program/agent.ts';

export interface AgentFlags {
  readonly unknownPods?: UnknownPods;
  readonly podTunnels?: 'deny' | 'allow';
  /** Why not both are known, as the end of a sentence. */
  readonly why?: string;
}

/** The label that the chart and `daemonset/` put on the agents and on their DaemonSet. */
export const AGENT_LABEL = 'app.kubernetes.io/name=sluice';

/** What the DaemonSets say to somebody who knows how many nodes the cluster has. Never throws. */
export async function readAgentFlags(
  api: Api,
  namespace: string,
  signal: AbortSignal,
): Promise<(nodes: number) => AgentFlags> {
  const found: unknown[] = [];
  try {
    const take = (listed: readonly { readonly object: unknown }[]) =>
      void found.push(...listed.map(({ object }) => object));
    await listPages(api, namespacedResource(DAEMON_SETS, namespace), take, signal);
  } catch (error) {
    const why = whyUnread(error, namespace);
    return () => ({ why });
  }
  return nodes => flagsOf(found, namespace, nodes);
}

function whyUnread(error: unknown, namespace: string): string {
  const code = error instanceof ApiError ? error.code : undefined;
  if (code === 403) return `you may not list daemonsets in namespace ${namespace}`;
  if (code === 404) return noneText(namespace);
  return `their DaemonSet cannot be read: ${(error as Error).message}`;
}

function noneText(namespace: string): string {
  return `there is no DaemonSet of them in namespace ${namespace} (--agents names another)`;
}

const DAEMON_SETS: Resource = {
  kind: 'DaemonSet',
  apiVersion: 'apps/v1',
  path: '/apis/apps/v1/daemonsets',
  labelSelector: AGENT_LABEL,
  shape: {
    apiVersion: 'all',
    kind: 'all',
    metadata: { name: 'all', namespace: 'all', generation: 'all', deletionTimestamp: 'all' },
    spec: {
      template: { spec: { hostNetwork: 'all', containers: { name: 'all', command: 'all', args: 'all' } } },
    },
    status: {
      observedGeneration: 'all',
      desiredNumberScheduled: 'all',
      updatedNumberScheduled: 'all',
      numberReady: 'all',
    },
  },
};

/** What all of them say. `nodes` is how many nodes the cluster has. */
export function flagsOf(daemonSets: readonly unknown[], namespace: string, nodes: number): AgentFlags {
  const read = daemonSets.map(each => flagsOfOne(asMap(each)));
  const [first] = read;
  if (first === undefined) return { why: noneText(namespace) };
  const unread = read.find(({ flags }) => flags === undefined);
  if (unread !== undefined) return { why: unread.why };
  const meant = read.reduce((sum, each) => sum + each.nodes, 0);
  if (meant !== nodes) return { why: `their DaemonSet is for ${meant} of ${nodes} nodes` };
  const { unknownPods, podTunnels } = first.flags!;
  const isSame = read.every(
    ({ flags }) => flags!.unknownPods === unknownPods && flags!.podTunnels === podTunnels,
  );
  return isSame ? first.flags! : { why: `their DaemonSets in namespace ${namespace} differ` };
}

type Fields = Readonly<Record<string, unknown>>;

function flagsOfOne({ metadata, spec, status }: Fields): {
  readonly flags?: AgentFlags;
  readonly nodes: number;
  readonly why: string;
} {
  const { name } = asMap(metadata);
  const said = `DaemonSet ${isText(name) ? name : '(no name)'}`;
  const counts = asMap(status);
  const nodes = numberOf(counts.desiredNumberScheduled);
  const unsettled = whyUnsettled(asMap(metadata), counts, nodes);
  if (unsettled !== undefined) return { nodes, why: `${said} ${unsettled}` };
  const options = optionsOf(asMap(asMap(asMap(spec).template).spec));
  if (options === undefined) return { nodes, why: `what ${said} starts is not understood` };
  const { podTunnels = 'deny' } = options;
  const [offered, missing] = [true, false].map(isOffered => startGateConfig(options, () => isOffered));
  const { unknownPods } = offered!;
  if (unknownPods === missing!.unknownPods) return { nodes, why: '', flags: { unknownPods, podTunnels } };
  const why = `${said} leaves it to each node (by default they deny where the runtime offers NRI)`;
  return { nodes, why, flags: { podTunnels, why } };
}

/** Rules of a version before may be in force. */
function whyUnsettled(metadata: Fields, status: Fields, nodes: number): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'is being deleted';
  if (metadata.generation !== status.observedGeneration) return 'has just been changed';
  const [updated, ready] = [numberOf(status.updatedNumberScheduled), numberOf(status.numberReady)];
  if (updated < nodes) return `is being rolled out: ${updated} of ${nodes} nodes have its latest version`;
  return ready < nodes ? `is ready on ${ready} of ${nodes} nodes` : undefined;
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** With `nonRoot` the chart starts the agent so; otherwise the image says what is started. */
const AS_NON_ROOT = ['keepcaps', '/usr/local/bin/node', 'dist/cli/main.js'];

/** The options of its agent, which follows this cluster on the network of its node; undefined if it may be another's. */
function optionsOf({ hostNetwork, containers }: Fields): AgentCommandOptions | undefined {
  const [agent, ...others] = asMaps(containers).filter(({ name }) => name === 'agent');
  if (hostNetwork !== true || agent === undefined || others.length > 0) return undefined;
  const { command, args } = agent;
  const isOwn = command === undefined || (isTexts(command) && isSameList(command, AS_NON_ROOT));
  if (!isOwn || !isTexts(args)) return undefined;
  const options = parsedArgs(args);
  const isElsewhere = options?.manifests !== undefined || options?.kubeconfig !== undefined;
  return isElsewhere ? undefined : options;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string');
}

/**
 * As the agent itself reads them; undefined where it would refuse them. The kubelet replaces texts such as `$(NODE_NAME)`
 * within an argument: as the value of an option that counts here they are refused, and so they are as arguments.
 */
function parsedArgs(args: readonly string[]): AgentCommandOptions | undefined {
  const found: AgentCommandOptions[] = [];
  const agent = async (options: AgentCommandOptions) => void found.push(options);
  const silent = { writeOut: () => undefined, writeErr: () => undefined };
  const sluice = new Command('sluice').exitOverride().configureOutput(silent);
  addAgent(sluice, { agent });
  try {
    sluice.parse(args, { from: 'user' });
    found.forEach(checkOptions);
    return found[0];
  } catch {
    return undefined;
  }
}
