/** What the rules of this network namespace should be: by a folder, or by the running agent. */

import type { ClusterView } from '../answers/questions/place.ts';
import type { WaitingWork } from '../api/health/agentchecks.ts';
import type { AgentClient } from '../api/rpc/client.ts';
import type { StatusResponse } from '../api/rpc/messages.ts';
import { ownNetworkNamespace } from '../kernel/host/read.ts';
import { type Cluster, knowsNode } from '../model/cluster.ts';
import { type Inventory, NO_INVENTORY } from '../model/inventory.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { DnsSnapshot } from '../names/dnscache.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { type PolicyStatuses, statusesOf } from './policylines.ts';
import { addInterfaces, clusterInForce, knownOf, unknownPodsOf, withKnown } from './sources/agent.ts';
import { askAgent, waitingOf } from './sources/askagent.ts';
import { readFiles } from './sources/files.ts';
import { DEFAULT_SOCKET } from './sources/state.ts';

/**
 * Options of commands that compare with expected rules. Without manifests the agent is asked. `node` names this node in
 * the manifests; the agent knows its own name.
 */
export interface NodeOptions {
  readonly manifests?: readonly string[];
  readonly node?: string;
  readonly socket?: string;
}

/** How far an agent is with its rules. */
export interface AgentProgress extends WaitingWork {
  readonly commits: number;
}

/**
 * The cluster from which the rules of this network namespace are compiled; pods that wait are in it as the rules have
 * them.
 */
export interface Expected {
  readonly cluster: Cluster;
  /** Services and workloads, if the source has them. */
  readonly inventory?: Inventory;
  readonly node: string;
  /** Whether packets of connections that the kernel does not know are guarded. */
  readonly guarded: boolean;
  /** The treatment of addresses that no known pod has; absent if it is not known. */
  readonly unknownPods?: UnknownPods;
  /** Answers of DNS to pods, if the agent reports them. */
  readonly known?: DnsSnapshot;
  /** The statuses of policies that are not in force as written. */
  readonly statuses: PolicyStatuses;
  /** The origin of the cluster: `the manifests`, `the agent's cluster`. */
  readonly source: string;
  /** The progress of the agent, if one was asked. */
  readonly progress?: AgentProgress;
}

/** The view in which ends are looked up. */
export function expectedView(
  { cluster, inventory }: Pick<Expected, 'cluster' | 'inventory'>,
  defaultNamespace = 'default',
): ClusterView {
  const isKnown = { knowsInventory: inventory !== undefined, unknownPods: 'allow' } as const;
  return { cluster, inventory: inventory ?? NO_INVENTORY, defaultNamespace, ...isKnown };
}

/** The expected, or in a sentence why there is none; the kernel alone is worth an answer too. */
export async function findExpected(
  command: 'inspect' | 'trace',
  options: NodeOptions,
): Promise<Expected | { readonly missing: string }> {
  if (options.manifests !== undefined) {
    if (options.node !== undefined) return expectedOf(options.manifests, options.node);
    throw new CommandError(`to compare with --manifests, ${command} needs --node NAME beside them`);
  }
  if (options.node !== undefined)
    throw new CommandError('--socket asks the agent of this machine, and --node one of a cluster: give one');
  try {
    return await askAgent(options.socket ?? DEFAULT_SOCKET, expectedOfAgent);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { missing: error.message };
  }
}

async function expectedOf(manifests: readonly string[], node: string): Promise<Expected> {
  const { cluster, inventory } = await readFiles(manifests);
  if (!knowsNode(cluster, node)) {
    const others = [...cluster.nodes.keys()].join(', ') || 'none';
    throw new CommandError(`there is no node ${node} in ${manifests.join(', ')} (nodes: ${others})`);
  }
  addInterfaces(cluster, node);
  const statuses = statusesOf(cluster);
  const seen = { ...cluster, seenBy: node };
  return { cluster: seen, inventory, guarded: true, source: 'the manifests', node, statuses };
}

async function expectedOfAgent(agent: AgentClient): Promise<Expected> {
  const status = await agent.status();
  const { node, network_namespace, cuts_connections, denies_unknown_pods } = status;
  if (network_namespace !== (await ownNetworkNamespace()))
    throw new Error('it programs another network namespace');
  const read = await clusterInForce(agent);
  addInterfaces(read, node);
  const found = withKnown(read, { ...(await knownOf(agent)), node });
  const unknownPods = unknownPodsOf(denies_unknown_pods);
  const agents = { source: "the agent's cluster", progress: progressOf(status), statuses: status };
  return { ...found, node, guarded: cuts_connections, unknownPods, ...agents };
}

/** How far the agent is now. */
export function readProgress(socket = DEFAULT_SOCKET): Promise<AgentProgress> {
  return askAgent(socket, async agent => progressOf(await agent.status()));
}

function progressOf(status: StatusResponse): AgentProgress {
  return { commits: status.totals.commits, ...waitingOf(status) };
}
