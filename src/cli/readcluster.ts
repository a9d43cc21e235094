/** The cluster that a question is about: that of a folder, or as the running agent sees it. */
import { loadManifests } from '../files/load.ts';
import { type Cluster, type ClusterEvent, ClusterState } from '../model/cluster.ts';
import type { Problem } from '../model/problem.ts';
import type { StateObject } from '../rpc/messages.ts';
import { askAgent } from './askagent.ts';
import { requireReadable } from './check.ts';

/** Where there are no manifests the agent is asked. */
export type ClusterOptions =
  | { readonly manifests: string }
  | { readonly manifests?: never; readonly socket: string };

export interface ReadCluster {
  readonly cluster: Cluster;
  readonly problems: readonly Problem[];
}

export async function readCluster(options: ClusterOptions): Promise<ReadCluster> {
  if (options.manifests === undefined)
    return askAgent(options.socket, async agent => clusterOf(await agent.state()));
  await requireReadable(options.manifests);
  return loadManifests(options.manifests);
}

/** The agent has told its problems to those who keep its log. */
function clusterOf(objects: readonly StateObject[]): ReadCluster {
  const cluster = new ClusterState();
  for (const { type, key, json } of objects) {
    cluster.apply({ type, key, value: JSON.parse(json) } as ClusterEvent);
  }
  return { cluster, problems: [] };
}
