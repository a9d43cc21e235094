/** A pod network in the namespace of a node, and the rules that its pods need: policy admits every pod at once. */
import { inNamespace } from '../../../bench/lab/netns.ts';
import type { Cluster, Node } from '../../../src/model/cluster.ts';
import { NodeInterfaces } from '../../../src/network/attach/nodeinterfaces.ts';
import { PodNetwork, type PodNetworkOptions } from '../../../src/network/attach/podnetwork.ts';
import { HostPorts } from '../../../src/network/hostports/hostports.ts';
import { PodRules } from './podrules.ts';
import type { PodSite } from './podsite.ts';

export interface TestNetwork {
  readonly links: NodeInterfaces;
  readonly rules: PodRules;
  readonly network: PodNetwork;
  close(): Promise<void>;
}

/** It does not know which pods live, unless `rest` says so. */
export async function openPodNetwork(
  site: PodSite,
  node: string,
  cluster: () => Cluster,
  rest: Partial<PodNetworkOptions> = {},
): Promise<TestNetwork> {
  const links = inNamespace(site.node, () => new NodeInterfaces());
  const rules = await PodRules.open(site, node, cluster().nodes.values());
  const network = new PodNetwork({
    node,
    links,
    helper: site.helper,
    ports: new HostPorts(
      rules,
      () => links.given(),
      async () => {},
    ),
    admission: { admit: async () => {}, adopt: () => {}, withdraw: () => {} },
    cluster,
    livingPods: () => undefined,
    log: { info: () => {}, warn: () => {} },
    ...rest,
  });
  const close = async () => {
    network.close();
    links.close();
    await rules.close();
  };
  return { links, rules, network, close };
}

export function clusterOf(...nodes: readonly Node[]): Cluster {
  const named = new Map(nodes.map(node => [node.name, node]));
  return { nodes: named, pods: new Map(), namespaces: new Map(), policies: new Map() };
}
