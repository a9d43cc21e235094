/**
 * Denies packets of pods that would enter a tunnel between nodes (N72). A node delivers a packet that it unwraps like
 * one of another node: to any pod, from any source address that the sender wrote. So one open tunnel would bypass all
 * policy. Such packets are denied at the node of the sending pod, and again at the node where the tunnel ends:
 *
 *     from-pods           to a tunnel's port or protocol ──▶ to-tunnels
 *                         to an address of a node; or to a tunnel of this node's own, out of the pod networks: denied
 *     from-pods-to-node   to a tunnel's port or protocol: denied
 *     input    no TCP ──▶ tunnels-here      to a tunnel's port or protocol, from a pod network and no node: denied
 *                                           by a port of this node or the address of a Service, from any source, to
 *                                           a tunnel of this node's own: denied
 *     forward  no TCP ──▶ tunnels-through   to a tunnel's port or protocol, from a pod network, to an address of a
 *                                           node: denied
 *                                           by a port of this node or the address of a Service, from any source, to
 *                                           a tunnel of this node's own: denied at an address of a node, and out of
 *                                           the pod networks. The node's own address would hide the sender, and the
 *                                           address of the node before may hide the pod's already
 *     postrouting, behind masquerading        translated to the port of a tunnel of this node's own: dropped
 *
 * A node has addresses that its status does not list. In the pod networks, the node that has the address denies the
 * packet. Outside the pod networks, packets are often masqueraded on their way, and the receiver takes the pod for its
 * node; so the sender's node has to deny them. Packets between pods' addresses pass: a set of all pods' addresses,
 * which would tell them from nodes at once, would cost every node a commit for every pod of the cluster.
 *
 * Masquerading takes any port for what a pod sends to another node, also one at which a tunnel of this node listens.
 * What the other node's tunnel then sends from the port that the pod has written to would be a reply to the pod.
 */
import { type Address, type Family, familyOf } from '../model/address.ts';
import type { Node, NodeLinks } from '../model/cluster.ts';
import { PROTOCOL_NUMBER } from '../model/ipprotocol.ts';
import { TUNNEL_PORTS, TUNNEL_PROTOCOLS, tunnelEnds } from '../model/tunnels.ts';
import {
  addressIn,
  addressType,
  destinationPortIn,
  isSourceTranslated,
  isTranslated,
  protocolIs,
  protocolNumberIs,
  verdict,
} from '../nft/match.ts';
import { isOriginal, sourcePortIn } from '../nft/matchanswers.ts';
import { notFromLoopback } from '../nft/matchinterface.ts';
import {
  type Chain,
  type Elements,
  type Expr,
  MEMBER,
  type NftRule,
  type NftSet,
  type SetSpec,
} from '../nft/ruleset.ts';
import type { TablePart } from './attachedpods.ts';
import { deny } from './denied.ts';
import { podNetworks } from './podnetworks.ts';
import { OUT_OF_NETWORKS, TUNNEL_CHAINS, TUNNEL_SETS } from './tunnelsin.ts';

/** The addresses in the status of all nodes. */
export const NODE_ADDRESSES = 'node-addresses';

type Links = Pick<NodeLinks, 'tunnels' | 'podTunnels'>;

/** Leads packets that a pod sends elsewhere to the chain, and denies those that it sends to its own node. */
export function tunnelsFromPods(family: Family, hook: 'forward' | 'input', links: Links): NftRule[] {
  if (links.podTunnels === 'allow') return [];
  return hook === 'input'
    ? intoTunnels(family).map(exprs => denied(exprs, INTO_TUNNEL))
    : intoTunnels(family).map(exprs => ({ exprs: [...exprs, verdict('jump', TUNNEL_CHAINS.from)] }));
}

/**
 * Checks packets to the node or through it, whatever link they arrive by. Most of them are TCP, which costs one
 * compare.
 */
export function tunnelsFromAnySource(family: Family, place: 'here' | 'through', links: Links): NftRule[] {
  if (links.podTunnels === 'allow') return [];
  const isNotTcp = protocolNumberIs(family, PROTOCOL_NUMBER.tcp, true);
  return [{ exprs: [...isNotTcp, verdict('jump', TUNNEL_CHAINS[place])] }];
}

/** Compares: each costs a tenth of a look-up. */
function intoTunnels(family: Family): Expr[][] {
  return [
    [...protocolIs(family, 'udp'), ...destinationPortIn(TUNNEL_SETS.ports)],
    ...TUNNEL_PROTOCOLS.map(number => protocolNumberIs(family, number)),
  ];
}

const INTO_TUNNEL = 'from a pod into a tunnel of nodes';
const BY_SERVICE = 'by a Service into a tunnel of nodes';
const AS_TUNNELS = 'as-tunnels';
/** Behind NF_IP_PRI_NAT_SRC (100): packets have the source that masquerading gives them. */
const BEHIND_SOURCE_NAT = 150;

/** The sets of addresses of nodes. */
export const ADDRESS_SETS: Readonly<Record<string, (node: Node) => readonly Address[]>> = {
  [NODE_ADDRESSES]: ({ addresses, lastKnownNodeAddresses = [] }) => [...addresses, ...lastKnownNodeAddresses],
  [TUNNEL_SETS.ends]: node => [...tunnelEnds(node), ...(node.lastKnownTunnelEnds ?? [])],
};

export function addressSetSpec(name: string, family: Family): SetSpec {
  return { name, key: [addressType(family)], verdicts: false, interval: false };
}

/** Those sets of one family. */
function addressSets(family: Family, nodes: readonly Node[]): NftSet[] {
  return Object.entries(ADDRESS_SETS).map(([name, addressesOf]) => {
    const addresses = nodes.flatMap(addressesOf).filter(address => familyOf(address) === family);
    const elements: Elements = new Map(addresses.map(address => [address, MEMBER]));
    return { ...addressSetSpec(name, family), elements };
  });
}

/**
 * The chains, and the sets that they look up, of which the caller makes those of addresses; `links` are those of the node
 * whose rules these are.
 */
export function tunnelPart(
  family: Family,
  nodes: readonly Node[],
  links: Links = {},
  ofAddresses: readonly NftSet[] = addressSets(family, nodes),
): TablePart {
  const networks = podNetworks(family, nodes);
  const { ports = [], protocols = [] } = links.tunnels ?? {};
  return {
    chains:
      links.podTunnels === 'allow'
        ? []
        : [...tunnelChains(family, networks, protocols), ...(ports.length > 0 ? [asTunnels(family)] : [])],
    sets: [
      setOf(TUNNEL_SETS.ports, 'inet_service', [...new Set([...TUNNEL_PORTS, ...ports])]),
      setOf(TUNNEL_SETS.ownPorts, 'inet_service', ports),
      ...ofAddresses,
      ...(networks === undefined ? [] : [networks]),
    ],
  };
}

function tunnelChains(family: Family, networks: NftSet | undefined, protocols: readonly number[]): Chain[] {
  const leaves = networks === undefined ? [] : addressIn(family, 'daddr', networks.name, true);
  const isUdp = protocolIs(family, 'udp');
  const toOwnPort = destinationPortIn(TUNNEL_SETS.ownPorts);
  const ofOwnKind = [[...isUdp, ...toOwnPort], ...protocols.map(number => protocolNumberIs(family, number))];
  // Most packets are not translated, and checking that costs less than a compare of the port.
  const byService = [...isUdp, ...isTranslated(), ...toOwnPort];
  const ofPods = networks === undefined ? [] : intoTunnels(family);
  const fromNetworks = networks === undefined ? [] : addressIn(family, 'saddr', networks.name);
  const toNodes = addressIn(family, 'daddr', TUNNEL_SETS.ends);
  const fromNoNode = [...addressIn(family, 'saddr', NODE_ADDRESSES, true), ...notFromLoopback()];
  return [
    {
      name: TUNNEL_CHAINS.from,
      rules: [
        denied(addressIn(family, 'daddr', TUNNEL_SETS.ends), INTO_TUNNEL),
        ...ofOwnKind.map(exprs => denied([...exprs, ...leaves], OUT_OF_NETWORKS)),
      ],
    },
    {
      name: TUNNEL_CHAINS.through,
      rules: [
        ...ofPods.map(exprs => denied([...exprs, ...fromNetworks, ...toNodes], INTO_TUNNEL)),
        denied([...byService, ...toNodes], BY_SERVICE),
        denied([...byService, ...leaves], BY_SERVICE),
      ],
    },
    {
      name: TUNNEL_CHAINS.here,
      rules: [
        ...ofPods.map(exprs => denied([...exprs, ...fromNetworks, ...fromNoNode], INTO_TUNNEL)),
        denied(byService, BY_SERVICE),
      ],
    },
  ];
}

/**
 * A dropped packet leaves no entry in conntrack, and the next one gets another port. It is not named as a denial: one of
 * 64,512 connections that policy allows is meant, and at this hook its sender is the node.
 */
function asTunnels(family: Family): Chain {
  const exprs = [
    ...protocolIs(family, 'udp'),
    ...isSourceTranslated(),
    ...isOriginal(),
    ...sourcePortIn(TUNNEL_SETS.ownPorts),
    verdict('drop'),
  ];
  return {
    name: AS_TUNNELS,
    hook: { hook: 'postrouting', priority: BEHIND_SOURCE_NAT, policy: 'accept' },
    rules: [{ exprs, comment: 'masqueraded as a tunnel of this node' }],
  };
}

function setOf(name: string, key: NftSet['key'][number], members: readonly (string | number)[]): NftSet {
  const elements: Elements = new Map(members.map(member => [String(member), MEMBER]));
  return { name, key: [key], verdicts: false, interval: false, elements };
}

function denied(exprs: readonly Expr[], comment: string): NftRule {
  return { exprs: [...exprs, deny()], comment };
}
