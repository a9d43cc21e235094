/**
 * Connections that the policies of some namespaces decide, together with those of the cluster: a NetworkPolicy selects
 * pods of its own namespace alone. Whoever may read no more than his namespace can be sure of these.
 */
import { type Address, addressToInt, familyOf } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import { addressesOfNode, type Cluster } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { Answer } from './answer.ts';
import { podOf, type ResolvedEndpoint } from './place.ts';
import { contains, PRIVATE } from './ranges.ts';

/** Whether every connection of the answer is between pods of these namespaces, nodes, and ends outside the cluster. */
export function isWithin(
  { cases }: Pick<Answer, 'cases'>,
  cluster: Cluster,
  namespaces: readonly string[],
): boolean {
  const isOutside = outsideOf(cluster);
  const isKnown = (place: ResolvedEndpoint) => {
    const pod = podOf(place);
    if (pod !== undefined) return namespaces.includes(pod.namespace);
    if (place.addresses.length === 0) return place.isInternet === true || place.domain !== undefined;
    return place.addresses.every(isOutside);
  };
  return cases.length > 0 && cases.every(({ from, to }) => isKnown(from) && isKnown(to.endpoint));
}

/** The same of connections by their addresses. */
export function flowsWithin(cluster: Cluster, namespaces: readonly string[]): (flow: Flow) => boolean {
  const isOutside = outsideOf(cluster);
  const owners = addressOwners(cluster);
  const isKnown = (address: Address) => {
    const pod = owners.get(address);
    return pod === undefined ? isOutside(address) : namespaces.includes(pod.namespace);
  };
  return ({ from, to }) => isKnown(from) && isKnown(to);
}

/** Whether an address is a node's, or of the internet. A private one may be that of a pod in another namespace, which is not known. */
function outsideOf(cluster: Cluster): (address: Address) => boolean {
  const nodes = new Set([...cluster.nodes.values()].flatMap(addressesOfNode));
  return address => nodes.has(address) || !contains(PRIVATE, familyOf(address), addressToInt(address));
}
