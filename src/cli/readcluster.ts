/** The cluster that a question is about: that of a folder, or as the running agent sees it. */

import { loadManifests } from '../files/load.ts';
import { ownNetworkNamespace } from '../host/networknamespace.ts';
import { type Cluster, type ClusterEvent, ClusterState, knowsNode } from '../model/cluster.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { Problem } from '../model/problem.ts';
import type { AgentClient } from '../rpc/client.ts';
import type { StateObject } from '../rpc/messages.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { askAgent } from './askagent.ts';
import { requireReadable } from './check.ts';
import { readDump } from './dump.ts';

/** Where there are no manifests the agent is asked. */
export type ClusterOptions =
  | { readonly manifests: string }
  | { readonly manifests?: never; readonly socket: string; readonly dump?: string };

/** `node` says as which node of the manifests this one is judged; the agent knows its own. */
export type NodeOptions = ClusterOptions & { readonly node?: string };

export interface ReadCluster {
  readonly cluster: Cluster;
  /** What becomes of addresses that no known pod has; absent where nobody said it. */
  readonly unknownPods?: UnknownPods;
  readonly problems: readonly Problem[];
}

/** What the kernel of this network namespace should follow. */
export interface Expected {
  readonly cluster: Cluster;
  readonly node: string;
  /** Whether packets of connections that the kernel does not know are guarded. */
  readonly guarded: boolean;
  /** What becomes of addresses that no known pod has; absent where nobody said it. */
  readonly unknownPods?: UnknownPods;
  /** `the manifests say`, `the agent's cluster says`. */
  readonly says: string;
}

/** Throws CommandError where there is nothing to read. */
export async function readCluster(options: ClusterOptions): Promise<ReadCluster> {
  if (options.manifests !== undefined) return readFolder(options.manifests);
  return options.dump === undefined ? askAgent(options.socket, readAgent) : readDumped(options.dump);
}

async function readAgent(agent: AgentClient): Promise<ReadCluster> {
  const { denies_unknown_pods } = await agent.status();
  return told(await clusterOf(agent), denies_unknown_pods);
}

async function readDumped(file: string): Promise<ReadCluster> {
  const { status, state } = await readDump(file);
  return told(clusterFrom(state), status.denies_unknown_pods);
}

function told(cluster: Cluster, deniesUnknownPods: boolean): ReadCluster {
  return { cluster, unknownPods: deniesUnknownPods ? 'deny' : 'allow', problems: [] };
}

async function readFolder(manifests: string): Promise<ReadCluster> {
  await requireReadable(manifests);
  return loadManifests(manifests);
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
    throw new CommandError('--node says for which node to ask the --manifests: give both');
  try {
    return await askAgent(options.socket, expectedOfAgent);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { missing: error.message };
  }
}

async function expectedOf(manifests: string, node: string): Promise<Expected> {
  const { cluster } = await readFolder(manifests);
  if (!knowsNode(cluster, node)) {
    const others = [...cluster.nodes.keys()].join(', ') || 'none';
    throw new CommandError(`there is no node ${node} in ${manifests} (nodes: ${others})`);
  }
  return { cluster, guarded: true, says: 'the manifests say', node };
}

async function expectedOfAgent(agent: AgentClient): Promise<Expected> {
  const { node, network_namespace, cuts_connections, denies_unknown_pods } = await agent.status();
  if (network_namespace !== (await ownNetworkNamespace()))
    throw new Error('it guards another network namespace');
  const cluster = await clusterOf(agent);
  const unknownPods = denies_unknown_pods ? 'deny' : 'allow';
  return { cluster, node, guarded: cuts_connections, unknownPods, says: "the agent's cluster says" };
}

/** The agent has told its problems to those who keep its log. */
async function clusterOf(agent: AgentClient): Promise<Cluster> {
  const { equal_at_ms } = await agent.status();
  if (equal_at_ms === 0) throw new Error('it has not read its cluster yet (sluice status says why)');
  return clusterFrom(await agent.state());
}

function clusterFrom(state: readonly StateObject[]): Cluster {
  const cluster = new ClusterState();
  for (const object of state) cluster.apply(eventOf(object));
  return cluster;
}

function eventOf({ type, key, json }: StateObject): ClusterEvent {
  return { type, key, value: JSON.parse(json) } as ClusterEvent;
}
