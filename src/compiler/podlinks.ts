/**
 * Checks of packets that arrive by a link of a pod of this node, before policy is evaluated. Policy takes the source
 * address for the pod that sends, so it has to be an address of that pod (N70). Packets without an address of a pod
 * (N69), for all hosts of a link (N71), or into a tunnel between nodes (N72) cannot be judged by policy.
 *
 *     forward ──▶ by a pod's link? ──▶ from-pods ──▶ the pod maps
 *             └─────▶ from an address of our pods, by another link? drop
 *
 * Rules match these links by their kind, so that they apply to a pod's first packet although the agent has not heard of
 * the pod: every veth except the node's uplinks, and the bridges that the agent knows to be of pods.
 */
import { type Address, type Cidr, FAMILIES, type Family, parseCidr } from '../model/address.ts';
import { broadcastsOf } from '../model/broadcasts.ts';
import type { Node, NodeLinks } from '../model/cluster.ts';
import { podCidrsOf } from '../model/podcidrs.ts';
import { LINK_GROUP, type PodLinks } from '../model/podlinks.ts';
import { addressInNetwork, hopsLeft, icmpTypeIs, neighbourDiscovery, verdict } from '../nft/match.ts';
import { interfaceGroupIs, noRouteBack } from '../nft/matchinterface.ts';
import type { Chain, Expr, NftRule, NftSet, Ruleset } from '../nft/ruleset.ts';
import type { TablePart } from './attachedpods.ts';
import { exempt, LINK_LOCAL, LOOPBACK, MULTICAST, UNSPECIFIED } from './beforepolicy.ts';
import { isToBroadcastAddress, OF_BRIDGE } from './broadcasts.ts';
import { deny, denyLink } from './denied.ts';
import { FROM_PODS, podLinkMatches } from './linkmatches.ts';
import { errorSenders, jumpToNotOpening } from './poderrors.ts';
import { NODE_ADDRESSES, tunnelPart, tunnelsFromPods } from './tunnels.ts';
import { TUNNEL_SETS } from './tunnelsin.ts';

/** What these rules depend on: the networks, addresses and links of this node. */
export interface NodeNetwork {
  readonly podCidrs: readonly Cidr[];
  readonly links: Omit<NodeLinks, 'podPorts' | 'bridgePorts'>;
  /** Who connects the node's pods with it. */
  readonly podLinks: PodLinks;
}

export function nodeNetworkOf(node: Node | undefined, podLinks: PodLinks = 'others'): NodeNetwork {
  const { uplinks = [], podBridges = [], broadcasts = [], podTunnels } = node?.links ?? {};
  const links = { uplinks, podBridges, broadcasts, ...(podTunnels && { podTunnels }) };
  return { podCidrs: podCidrsOf(node), links, podLinks };
}

const NEIGHBOURS = 'neighbours';

export const FROM_ELSEWHERE = 'as a pod of this node, from elsewhere';

/**
 * Leads packets of pods to the chain of the hook, and drops packets with a pod's address that arrive by another link.
 */
export function sourceRules(family: Family, network: NodeNetwork, hook: 'forward' | 'input'): NftRule[] {
  return [
    ...podLinkMatches(network.links).map(link => ({ exprs: [...link, verdict('goto', FROM_PODS[hook])] })),
    ...network.podCidrs
      .filter(cidr => cidr.family === family)
      .map(cidr => ({
        exprs: [...addressInNetwork(cidr, 'saddr'), ...noRouteBack(), denyLink()],
        comment: FROM_ELSEWHERE,
      })),
  ];
}

/** `judged` are the rules of the hook that evaluate policy. */
export function fromPods(
  family: Family,
  network: NodeNetwork,
  hook: 'forward' | 'input',
  judged: readonly NftRule[],
): Chain {
  return {
    name: FROM_PODS[hook],
    rules: [
      ...withoutAddress(family, hook),
      forged([...unlessChecked(network), ...noRouteBack()], 'from an address that is not the pod’s'),
      ...(hook === 'forward'
        ? [...toLinkLocal(family), ...forEverybody(family, network)]
        : toLoopback(family)),
      ...tunnelsFromPods(family, hook, network.links),
      jumpToNotOpening(),
      ...judged,
    ],
  };
}

/**
 * Packets of pods that this agent attaches were checked at prerouting (attachedpods.ts). The check of the route is most
 * of the cost of these rules.
 */
function unlessChecked({ podLinks }: NodeNetwork): Expr[] {
  return podLinks === 'ours' ? interfaceGroupIs('iifgroup', LINK_GROUP, true) : [];
}

/** N69. Packets that the kernel's check of the reverse path accepts, or cannot check. */
function withoutAddress(family: Family, hook: 'forward' | 'input'): NftRule[] {
  const linkLocal =
    family === 'ip' ? [] : [forged(addressInNetwork(LINK_LOCAL, 'saddr'), 'from a link-local address')];
  if (hook === 'forward') return [...reportsToNeighbours(family), ...linkLocal]; // none from `::` or 0.0.0.0 is routed
  const none = forged(addressInNetwork(UNSPECIFIED[family], 'saddr'), 'from no address');
  return [...exempt('dhcp', family), ...exempt('listenerReports', family), ...linkLocal, none];
}

/**
 * A bridge floods the listener reports that each pod sends while it starts, and the other pods need none. They are
 * dropped without a word, because one of each pod would be named as a denial.
 */
function reportsToNeighbours(family: Family): NftRule[] {
  if (family === 'ip') return [];
  const exprs = [
    ...addressInNetwork(LINK_LOCAL, 'saddr'),
    ...icmpTypeIs('ip6', LISTENER_REPORT),
    verdict('drop'),
  ];
  return [{ exprs, comment: 'which groups the sender wants, for the node alone' }];
}

/** Version 2 (RFC 3810), which the kernel sends. */
const LISTENER_REPORT = 143;

/** N69. Behind the check of the sender, because they are limited by the sender's address. */
function toLinkLocal(family: Family): NftRule[] {
  return family === 'ip' ? [] : [drop(addressInNetwork(LINK_LOCAL, 'daddr'), 'to a link-local address')];
}

/** N71. With `route_localnet`, as portmap sets it for host ports, the kernel would deliver them. */
function toLoopback(family: Family): NftRule[] {
  return family === 'ip'
    ? [drop(addressInNetwork(LOOPBACK, 'daddr'), 'from a pod to loopback of its node')]
    : [];
}

const BROADCAST_AND_MULTICAST = parseCidr('224.0.0.0/3')!;

/** N71: packets for all hosts. */
function forEverybody(family: Family, { podCidrs, links }: NodeNetwork): NftRule[] {
  const many = addressInNetwork(family === 'ip' ? BROADCAST_AND_MULTICAST : MULTICAST, 'daddr');
  const ofPods = broadcastsOf(podCidrs).flatMap(address => isToBroadcastAddress(address, family));
  const ofBridges = (links.broadcasts ?? []).flatMap(address => isToBroadcastAddress(address, family));
  return [
    ...[many, ...ofPods].map(exprs => drop(exprs, 'from a pod to everybody')),
    ...ofBridges.map(exprs => drop(exprs, OF_BRIDGE)),
  ];
}

/**
 * The chains and sets of these rules that depend on other nodes; `node` is the node whose rules they are. The sets of
 * addresses are made, unless the caller has them.
 */
export function linkPart(
  family: Family,
  nodes: ReadonlyMap<string, Node>,
  node: string,
  ofAddresses?: readonly NftSet[],
): TablePart {
  const { chains, sets } = tunnelPart(family, [...nodes.values()], nodes.get(node)?.links, ofAddresses);
  return { chains, sets: [...sets, errorSenders(family)] };
}

/** N63: neighbour discovery is never judged by policy, and never leaves its link. */
export function gotoNeighbours(): NftRule {
  return { exprs: [...neighbourDiscovery(), verdict('goto', NEIGHBOURS)], comment: 'neighbour discovery' };
}

/** RFC 4861: a message with fewer than 255 hops left comes from beyond the link, or is forged. */
export function neighboursChain({ links }: NodeNetwork): Chain {
  const unlessOfPods = [134, 137].flatMap(type =>
    podLinkMatches(links).map(link =>
      forged([...icmpTypeIs('ip6', type), ...link], 'from a pod that is no router'),
    ),
  );
  return {
    name: NEIGHBOURS,
    rules: [
      forged(hopsLeft('ip6', 'neq', 255), 'not of this link'),
      ...unlessOfPods,
      ...exempt('neighbourDiscovery', 'ip6'),
    ],
  };
}

/** A rule that denies packets whose source address may be forged. */
function forged(exprs: readonly Expr[], comment: string): NftRule {
  return { exprs: [...exprs, denyLink()], comment };
}

function drop(exprs: readonly Expr[], comment: string): NftRule {
  return { exprs: [...exprs, deny()], comment };
}

/** The addresses of all nodes in programmed rules, or all addresses at which tunnels may end. */
export function nodeAddressesIn({ tables }: Ruleset, which: 'listed' | 'tunnel ends' = 'listed'): Address[] {
  const name = which === 'listed' ? NODE_ADDRESSES : TUNNEL_SETS.ends;
  const keys = FAMILIES.flatMap(family => [...(tables.get(family)?.sets.get(name)?.elements.keys() ?? [])]);
  return keys as Address[];
}
