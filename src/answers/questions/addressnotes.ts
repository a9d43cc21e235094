/** Notes about addresses of nodes: those with which they arrive (N75), and those that others have as well. */
import { firstOf } from '../../lib/text/firstof.ts';
import type { Address } from '../../model/address.ts';
import { type Cluster, isSelectable } from '../../model/cluster.ts';
import { contestedTunnels, tunnelDeviceAt } from '../../model/tunneladdresses.ts';
import type { JudgedFlow } from './judge.ts';
import { podOf } from './place.ts';

const MOST = 10;
const MOST_CLAIMANTS = 3;

/** N75: names both addresses of a node that sends from its tunnel. */
export function arrivalNotes(cases: readonly JudgedFlow[], cluster: Cluster): readonly string[] {
  const all = [...cluster.nodes.values()];
  const found = cases.flatMap(({ from, to, flow, viaNode }) => {
    if (viaNode === undefined || to.translation !== undefined) return [];
    const over = all.map(node => tunnelDeviceAt(node, viaNode)).find(device => device !== undefined);
    const by = over === undefined ? '' : ` over ${over}`;
    const sender = from.name === flow.from ? from.name : `${from.name} (${flow.from})`;
    return [
      `${sender}, which arrives as ${viaNode}${by} at pods of other nodes${contestText(cluster, viaNode)}`,
    ];
  });
  return [...new Set(found)].slice(0, MOST);
}

/** An address of a pod that Nodes list as well: what is said of these nodes is said of the pod. */
export function claimNotes(cases: readonly JudgedFlow[], cluster: Cluster): readonly string[] {
  const nodes = [...cluster.nodes.values()];
  const found = cases
    .slice(0, MOST)
    .flatMap(({ from, to, flow }) => [
      { pod: podOf(from), address: flow.from },
      { pod: podOf(to.endpoint), address: flow.to },
    ])
    .flatMap(({ pod, address }) => {
      if (pod === undefined || !isSelectable(pod)) return [];
      const claimants = nodes.filter(({ addresses }) => addresses.includes(address));
      if (claimants.length === 0) return [];
      const who = firstOf(claimants, MOST_CLAIMANTS, ({ name }) => name);
      return [
        `${address} is the address of pod ${pod.key}, and node ${who} lists it in its status: rules for the node mean it, too`,
      ];
    });
  return [...new Set(found)].slice(0, MOST);
}

function contestText(cluster: Cluster, address: Address): string {
  const claimants = contestedTunnels(cluster).get(address);
  if (claimants === undefined) return '';
  return `; policy takes ${address} to be no node's, because ${firstOf(claimants, MOST_CLAIMANTS)} claim it`;
}
