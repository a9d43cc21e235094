/**
 * The groups that a node may be in, found without asking each: a policy with one ipBlock has one, so there may be as many
 * as policies. Those with tunnels are found by the networks that contain an InternalIP of the node, those that it was in
 * by its name. Those that select nodes by labels are few, and always asked.
 */
import { getOrMake } from '../../../lib/collections/getormake.ts';
import { type Address, type Cidr, familyOf, networkOf } from '../../../model/address.ts';
import type { NodePeer } from '../../group.ts';

export class NodeGroups<Group> {
  readonly #byLabels = new Set<Group>();
  /** By prefix length, of which a cluster has few, and then by the first address. */
  readonly #byNetwork = new Map<string, Map<Address, Set<Group>>>();
  readonly #ofNode = new Map<string, Set<Group>>();

  add(peers: readonly NodePeer[], group: Group): void {
    for (const peer of peers) {
      if (peer.kind === 'nodes') this.#byLabels.add(group);
      else {
        const { cidr } = peer;
        const networks = getOrMake(this.#byNetwork, lengthText(cidr), () => new Map<Address, Set<Group>>());
        getOrMake(networks, cidr.base, () => new Set()).add(group);
      }
    }
  }

  /** `nodes`: the nodes that are in the group. */
  delete(peers: readonly NodePeer[], group: Group, nodes: Iterable<string>): void {
    this.#byLabels.delete(group);
    for (const peer of peers) if (peer.kind === 'nodes in') this.#deleteNetwork(peer.cidr, group);
    for (const node of nodes) this.left(node, group);
  }

  joined(node: string, group: Group): void {
    getOrMake(this.#ofNode, node, () => new Set()).add(group);
  }

  left(node: string, group: Group): void {
    const groups = this.#ofNode.get(node);
    if (groups?.delete(group) && groups.size === 0) this.#ofNode.delete(node);
  }

  /** The groups that a node with these InternalIPs may be in, and those that it is in. */
  touchedBy(node: string, internalIps: readonly Address[]): ReadonlySet<Group> {
    const touched = new Set([...this.#byLabels, ...(this.#ofNode.get(node) ?? [])]);
    for (const address of internalIps)
      for (const [length, networks] of this.#byNetwork) {
        const [family, prefix] = length.split(' ');
        if (family !== familyOf(address)) continue;
        for (const group of networks.get(networkOf(address, Number(prefix)).base) ?? []) touched.add(group);
      }
    return touched;
  }

  #deleteNetwork(cidr: Cidr, group: Group): void {
    const networks = this.#byNetwork.get(lengthText(cidr));
    const groups = networks?.get(cidr.base);
    groups?.delete(group);
    if (groups?.size === 0) networks!.delete(cidr.base);
    if (networks?.size === 0) this.#byNetwork.delete(lengthText(cidr));
  }
}

function lengthText({ family, prefix }: Cidr): string {
  return `${family} ${prefix}`;
}
