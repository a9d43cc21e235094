/** Whether a rule matches a packet, according to the API's documentation. Part of the reference semantics. */

import { assertNever } from '../lib/text/assert.ts';
import { type Address, cidrContains, familyOf } from '../model/address.ts';
import { type Cluster, internalIpsOf, type Node, namespaceAround, type Pod } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { Direction, NetworkPeer, Peer, PortMatch, Rule } from '../model/policy.ts';
import { type Match, matchesLabels, matchPod, type PodSelector } from '../model/selector.ts';

/** A flow from the point of view of the pod at one end. */
export interface Packet {
  readonly flow: Flow;
  readonly direction: Direction;
  /** The pod that the policies select: the source of egress, the destination of ingress. */
  readonly subject: Pod;
  /** The other end, and the pod that owns its address, if one does. */
  readonly peer: Address;
  readonly peerPod: Pod | undefined;
  /** The node that sends from the other end's address into its tunnel (N75). */
  readonly peerTunnel: Node | undefined;
  /** The nodes that the other end may be for a rule that denies or passes (C59). */
  readonly peerNodes: readonly Node[];
}

/** N12: one of the peers and one of the ports has to match. */
export function matchRule(cluster: Cluster, rule: Rule, packet: Packet): Match {
  if (matchingPort(rule, packet) === undefined) return 'no';
  if (rule.peers === 'any') return 'yes';
  const matches = rule.peers.map(peer => matchPeer(cluster, peer, packet, rule));
  if (matches.includes('yes')) return 'yes';
  return matches.includes('unknown') ? 'unknown' : 'no';
}

/** The first peer that matches, else the first that might match; 'any' if the rule has no peers (N10). */
export function matchingPeer(cluster: Cluster, rule: Rule, packet: Packet): 'any' | Peer | undefined {
  if (rule.peers === 'any') return 'any';
  const first = (wanted: Match) =>
    (rule.peers as readonly Peer[]).find(peer => matchPeer(cluster, peer, packet, rule) === wanted);
  return first('yes') ?? first('unknown');
}

/** The first port entry that matches; 'any' if the rule has no ports (N11, C21), which matches every protocol. */
export function matchingPort(rule: Rule, packet: Packet): 'any' | PortMatch | undefined {
  return rule.ports === 'any' ? 'any' : rule.ports.find(port => matchesPort(port, packet));
}

function matchPeer(cluster: Cluster, peer: Peer, packet: Packet, rule: Pick<Rule, 'action'>): Match {
  switch (peer.kind) {
    case 'pods': // N14, C18: an address that no pod owns never matches a pod selector.
      return packet.peerPod === undefined ? 'no' : selects(cluster, peer.selector, packet.peerPod);
    case 'nodes': // C31, N75, C59: the nodes' own addresses; pods on those nodes do not match.
      return certain(nodesMeant(packet, rule).some(node => matchesLabels(peer.selector, node.labels)));
    case 'network': // N19, N20, C34: whether or not a pod owns the address. N75, C59: or the node that it is.
      return certain([packet.peer, ...entrances(packet, rule)].some(address => contains(peer, address)));
    case 'domain': // C41: an address matches a name only after this pod got it in an answer for the name.
      return certain(cluster.resolved?.has(packet.subject.key, packet.peer, peer.name) ?? false);
    default:
      return assertNever(peer);
  }
}

export function contains({ cidr, except }: NetworkPeer, address: Address): boolean {
  return cidrContains(cidr, address) && !except.some(each => cidrContains(each, address));
}

/** N75, C59: the InternalIPs for which the other end counts as well. N22: a network never means the other family. */
function entrances(packet: Packet, { action }: Pick<Rule, 'action'>): readonly Address[] {
  const { peer, peerTunnel, peerNodes } = packet;
  const nodes = action === 'accept' ? (peerTunnel === undefined ? [] : [peerTunnel]) : peerNodes;
  return nodes.flatMap(internalIpsOf).filter(address => familyOf(address) === familyOf(peer));
}

function certain(matches: boolean): Match {
  return matches ? 'yes' : 'no';
}

function matchesPort(port: PortMatch, { flow, direction, subject, peerPod }: Packet): boolean {
  switch (port.kind) {
    case 'protocol':
      return flow.protocol === port.protocol;
    case 'range':
      return (
        flow.protocol === port.protocol &&
        flow.port !== undefined &&
        port.first <= flow.port &&
        flow.port <= port.last
      );
    case 'named': // N29, N30: a name stands for what the destination's containers declare.
      return declares(direction === 'ingress' ? subject : peerPod, port, flow);
    default:
      return assertNever(port);
  }
}

/** N31, N33, C27: name, protocol and number have to match the same container port. */
function declares(
  destination: Pod | undefined,
  { name, protocol }: PortMatch & { kind: 'named' },
  flow: Flow,
): boolean {
  const fits = (port: Pod['ports'][number]): boolean =>
    port.name === name &&
    (protocol === undefined || protocol === port.protocol) &&
    port.protocol === flow.protocol &&
    port.port === flow.port;
  return destination?.ports.some(fits) ?? false;
}

/** Whether a selector of a subject or peer selects this pod; not if the pod owns no address (N45, N46, N47). */
export function selects(cluster: Cluster, selector: PodSelector, pod: Pod): Match {
  return matchPod(selector, pod, namespaceAround(cluster, pod));
}

/** C59: a denial holds at every address of a node, and an allowance where the node says that it is. */
function nodesMeant({ peer, peerTunnel, peerNodes }: Packet, { action }: Pick<Rule, 'action'>) {
  if (action !== 'accept') return peerNodes;
  return peerNodes.filter(node => node.addresses.includes(peer) || node === peerTunnel);
}
