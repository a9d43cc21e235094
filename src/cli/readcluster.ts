/** The cluster that a question is about: that of a folder, or as the running agent sees it. */

import { ownAddresses } from '../daemon/ownaddresses.ts';
import { type LoadedCluster, loadManifests } from '../files/load.ts';
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
  /** What becomes of addresses that no known pod has; absent where it is not known. */
  readonly unknownPods?: UnknownPods;
  readonly problems: readonly Problem[];
}

/** What the rules of this network namespace are compiled from. */
export interface Expected {
  readonly cluster: Cluster;
  readonly node: string;
  /** Whether packets of connections that the kernel does not know are guarded. */
  readonly guarded: boolean;
  /** What becomes of addresses that no known pod has; absent where it is not known. */
  readonly unknownPods?: UnknownPods;
  /** Whose cluster it is: `the manifests`, `the agent's cluster`. */
  readonly source: string;
}

/** Throws CommandError where there is nothing to read. */
export async function readCluster(options: ClusterOptions): Promise<ReadCluster> {
  if (options.manifests !== undefined) return readFolder(options.manifests);
  return options.dump === undefined ? askAgent(options.socket, readAgent) : readDumped(options.dump);
}

async function readAgent(agent: AgentClient): Promise<ReadCluster> {
  const { denies_unknown_pods, network_namespace, node } = await agent.status();
  const cluster = await clusterOf(agent);
  if (network_namespace === (await ownNetworkNamespace())) addInterfaces(cluster, node);
  return { cluster, unknownPods: unknownPodsOf(denies_unknown_pods), problems: [] };
}

async function readDumped(file: string): Promise<ReadCluster> {
  const { status, state } = await readDump(file);
  const unknownPods = unknownPodsOf(status.denies_unknown_pods);
  return { cluster: clusterFrom(state), unknownPods, problems: [] };
}

function unknownPodsOf(denied: boolean): UnknownPods {
  return denied ? 'deny' : 'allow';
}

/** What the interfaces of this network namespace have is the node itself, a bridge's address of the pod network too. */
function addInterfaces(cluster: ClusterState, name: string): void {
  const node = cluster.nodes.get(name);
  if (node === undefined) return;
  cluster.apply({ type: 'node', key: name, value: { ...node, interfaceAddresses: [...ownAddresses()] } });
}

async function readFolder(manifests: string): Promise<LoadedCluster> {
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
  addInterfaces(cluster, node);
  return { cluster, guarded: true, source: 'the manifests', node };
}

async function expectedOfAgent(agent: AgentClient): Promise<Expected> {
  const { node, network_namespace, cuts_connections, denies_unknown_pods } = await agent.status();
  if (network_namespace !== (await ownNetworkNamespace()))
    throw new Error('it programs another network namespace');
  const cluster = await clusterOf(agent);
  addInterfaces(cluster, node);
  const unknownPods = unknownPodsOf(denies_unknown_pods);
  return { cluster, node, guarded: cuts_connections, unknownPods, source: "the agent's cluster" };
}

/** Problems are in the agent's log already. */
async function clusterOf(agent: AgentClient): Promise<ClusterState> {
  const { equal_at_ms } = await agent.status();
  if (equal_at_ms === 0) throw new Error('it has not read its cluster yet (sluice status says why)');
  return clusterFrom(await agent.state());
}

function clusterFrom(state: readonly StateObject[]): ClusterState {
  const cluster = new ClusterState();
  for (const object of state) cluster.apply(eventOf(object));
  return cluster;
}

function eventOf({ type, key, json }: StateObject): ClusterEvent {
  return { type, key, value: JSON.parse(json) } as ClusterEvent;
}
