/** A cluster in which a node's own object says which interfaces it has, as its agent would have it. */

import { inNamespace } from '../../../bench/lab/netns.ts';
import { askHooksOfLldp, readOwnInterfaces } from '../../../src/daemon/pods/interfacewatcher.ts';
import { RtnetlinkSocket } from '../../../src/kernel/netlink/route/rtnetlink-socket.ts';
import type { Cluster } from '../../../src/model/cluster.ts';

/** `namespace` is the path of the node's. */
export async function withOwnLinks(
  cluster: Cluster,
  node: string,
  namespace: string,
  podTunnels?: 'allow',
): Promise<Cluster> {
  const value = cluster.nodes.get(node);
  if (value === undefined) return cluster;
  const socket = inNamespace(namespace, () => new RtnetlinkSocket());
  try {
    const own = await readOwnInterfaces(socket, cluster, node);
    const links = { ...own.links, ...(podTunnels && { podTunnels }) };
    await askHooksOfLldp(socket, links.podBridges);
    return { ...cluster, nodes: new Map([...cluster.nodes, [node, { ...value, links }]]) };
  } finally {
    socket.close();
  }
}
