/** What people call a recorded end: its workload, its pod, the node that has the address, or the address. */

import { type Address, familyOf } from '../../model/address.ts';
import { addressesOfNode } from '../../model/cluster.ts';
import { tunnelNodes } from '../../model/tunneladdresses.ts';
import { workloadByLabels } from '../../model/workloadbylabels.ts';
import type { RecordedEnd, Recording } from './recording.ts';

export function endNamer({ nodes }: Pick<Recording, 'nodes'>): (end: RecordedEnd) => string {
  const names = new Map<Address, string>();
  for (const node of nodes.values())
    for (const address of addressesOfNode(node)) names.set(address, `node/${node.name}`);
  for (const [address, node] of tunnelNodes(nodes.values()))
    if (!names.has(address)) names.set(address, `node/${node.name}`);
  return ({ address, pod }) =>
    pod === undefined ? (names.get(address) ?? address) : (workloadByLabels(pod) ?? pod.key);
}

/** `shop/db:5432/TCP`, `[fd00::1]:53/UDP`, `192.0.2.7/ICMP`. */
export function targetText(name: string, protocol: string | number, port: number | undefined): string {
  if (port === undefined) return `${name}/${protocol}`;
  const isIpv6 = /^[0-9a-f:.]+$/.test(name) && familyOf(name as Address) === 'ip6';
  return `${isIpv6 ? `[${name}]` : name}:${port}/${protocol}`;
}
