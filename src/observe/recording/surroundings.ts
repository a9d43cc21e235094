/** The part of the cluster that a recording keeps: all that policies can ask about the flows. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { byName } from '../../lib/text/byname.ts';
import type { Address } from '../../model/address.ts';
import type { Cluster, Node, Pod } from '../../model/cluster.ts';
import { addressesOfNode, isSelectable } from '../../model/cluster.ts';
import { stableLabels } from '../../model/stablelabels.ts';
import { credibleTunnelAddresses } from '../../model/tunneladdresses.ts';
import { unknownPodNodeFinder } from '../../semantics/unknownpods.ts';
import type { RecordedEnd, RecordedFlow, Recording, SilentPods } from './recording.ts';

/** Further pods of a very large cluster are left out: a selector may then mean more pods than a suggestion knows. */
const MOST_SILENT = 20_000;

export function surroundingsOf(
  cluster: Cluster,
  flows: readonly RecordedFlow[],
): Pick<Recording, 'namespaces' | 'nodes' | 'silent'> {
  const ends = [...new Set(flows.flatMap(({ from, to }) => [from, to]))];
  const silent = silentPods(cluster, ends);
  const names = new Set([
    ...ends.flatMap(({ pod }) => pod?.namespace ?? []),
    ...silent.map(({ namespace }) => namespace),
  ]);
  const known = [...names].flatMap(name => cluster.namespaces.get(name) ?? []);
  return { namespaces: byName(known), nodes: byName(nodesOf(cluster, ends)), silent };
}

/**
 * The nodes on which the pods run, those that are ends themselves, of a tunnel address all that claim it, and those in
 * whose pod networks unknown addresses are.
 */
function nodesOf(cluster: Cluster, ends: readonly RecordedEnd[]): Node[] {
  const withAddress = new Map<Address, Node[]>();
  for (const node of cluster.nodes.values())
    for (const address of [...addressesOfNode(node), ...credibleTunnelAddresses(node)])
      getOrMake(withAddress, address, () => []).push(node);
  const noPods = { get: () => undefined, has: () => false };
  const nodeOfUnknownPod = unknownPodNodeFinder(cluster, noPods);
  const found = ends.flatMap(({ address, pod }) => [
    ...(withAddress.get(address) ?? []),
    ...(pod === undefined ? [nodeOfUnknownPod(address)] : [cluster.nodes.get(pod.node)]),
  ]);
  return [...new Set(found)].filter(node => node !== undefined);
}

/** One pod for each distinct set of labels that no recorded end has. */
function silentPods({ pods }: Cluster, ends: readonly RecordedEnd[]): SilentPods[] {
  const seen = new Set(ends.flatMap(({ pod }) => (pod === undefined ? [] : [textOf(pod)])));
  const found = new Map<string, SilentPods>();
  for (const pod of pods.values()) {
    const text = textOf(pod);
    if (!isSelectable(pod) || seen.has(text) || found.has(text)) continue;
    if (found.size < MOST_SILENT)
      found.set(text, { namespace: pod.namespace, labels: stableLabels(pod.labels) });
  }
  return [...found.values()];
}

function textOf({ namespace, labels }: Pod): string {
  return `${namespace} ${JSON.stringify(Object.entries(stableLabels(labels)).sort())}`;
}
