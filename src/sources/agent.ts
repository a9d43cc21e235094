/** The cluster as the node's agent sees it, now or when somebody wrote it down. */
import { ownNetworkNamespace } from '../host/networknamespace.ts';
import { ownAddresses } from '../host/ownaddresses.ts';
import { type ClusterEvent, ClusterState } from '../model/cluster.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { AgentClient } from '../rpc/client.ts';
import type { StateObject } from '../rpc/messages.ts';
import { askAgent } from './askagent.ts';
import { readDump } from './dump.ts';

export interface AgentCluster {
  readonly cluster: ClusterState;
  readonly unknownPods: UnknownPods;
}

/** Throws CommandError where no agent answers, or it has not read its cluster yet. */
export function readAgent(socket: string): Promise<AgentCluster> {
  return askAgent(socket, async agent => {
    const { denies_unknown_pods, network_namespace, node } = await agent.status();
    const cluster = await clusterOf(agent);
    if (network_namespace === (await ownNetworkNamespace())) addInterfaces(cluster, node);
    return { cluster, unknownPods: unknownPodsOf(denies_unknown_pods) };
  });
}

export async function readDumped(file: string): Promise<AgentCluster> {
  const { status, state } = await readDump(file);
  return { cluster: clusterFrom(state), unknownPods: unknownPodsOf(status.denies_unknown_pods) };
}

export function unknownPodsOf(denied: boolean): UnknownPods {
  return denied ? 'deny' : 'allow';
}

/** What the interfaces of this network namespace have is the node itself, a bridge's address of the pod network too. */
export function addInterfaces(cluster: ClusterState, name: string): void {
  const node = cluster.nodes.get(name);
  if (node === undefined) return;
  cluster.apply({ type: 'node', key: name, value: { ...node, interfaceAddresses: [...ownAddresses()] } });
}

/** Problems are in the agent's log already. */
export async function clusterOf(agent: AgentClient): Promise<ClusterState> {
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
