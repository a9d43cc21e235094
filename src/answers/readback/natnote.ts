/** What whoever asked for an address must know: NAT may lead it to a pod, and we know no Services and no host ports. */

import { cidrContains, parseAddress } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { endName } from '../../semantics/flowtext.ts';

/** `asked` is how the destination was written; undefined where it names a pod, or the address can only be a pod's. */
export function natNote(cluster: Cluster, asked: string, { to, port }: Flow): string | undefined {
  if (port === undefined || parseAddress(endName(asked)) === undefined) return undefined;
  if (addressOwners(cluster).has(to)) return undefined;
  const nodes = [...cluster.nodes.values()];
  const isNode = nodes.some(({ addresses }) => addresses.includes(to));
  const isInPodNetwork = nodes.flatMap(podCidrsOf).some(cidr => cidrContains(cidr, to));
  if (isInPodNetwork && !isNode) return undefined;
  return `NAT is not followed: where a Service or a host port leads from ${to} port ${port} to a pod, ask for that pod`;
}
