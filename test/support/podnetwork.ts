/** A pod network in the namespace of a node, without an agent: policy admits every pod at once. */
import { inNamespace } from '../../src/lab/netns.ts';
import type { Cluster, Node } from '../../src/model/cluster.ts';
import { NodeLinks } from '../../src/network/attach/nodelinks.ts';
import { PodNetwork, type PodNetworkOptions } from '../../src/network/attach/podnetwork.ts';
import { HostPorts } from '../../src/network/hostports/hostports.ts';
import { PodTableSocket } from '../../src/network/hostports/podtablesocket.ts';
import type { PodSite } from './podsite.ts';

/** What the kernel holds of the pods of a node. */
export interface Books {
  readonly links: NodeLinks;
  readonly table: PodTableSocket;
  close(): void;
}

export function openBooks(site: PodSite): Books {
  const [links, table] = inNamespace(site.node, () => [new NodeLinks(), new PodTableSocket()] as const);
  return {
    links,
    table,
    close: () => {
      links.close();
      table.close();
    },
  };
}

export interface TestNetwork extends Books {
  readonly network: PodNetwork;
}

/** It does not know which pods live, unless `rest` says so. */
export function openPodNetwork(
  site: PodSite,
  node: string,
  cluster: () => Cluster,
  rest: Partial<PodNetworkOptions> = {},
): TestNetwork {
  const books = openBooks(site);
  const network = new PodNetwork({
    node,
    links: books.links,
    helper: site.helper,
    ports: new HostPorts(
      books.table,
      () => books.links.given(),
      async () => {},
    ),
    admission: { admit: async () => {}, adopt: () => {}, withdraw: () => {} },
    cluster,
    livingPods: () => undefined,
    log: { info: () => {}, warn: () => {} },
    ...rest,
  });
  const close = () => {
    network.close();
    books.close();
  };
  return { ...books, network, close };
}

export function clusterOf(...nodes: readonly Node[]): Cluster {
  const named = new Map(nodes.map(node => [node.name, node]));
  return { nodes: named, pods: new Map(), namespaces: new Map(), policies: new Map() };
}
