/**
 * What comes by a link that leads to pods of this node, before any policy is asked. An address says which pod sends,
 * so it has to be the pod's own (N70); what has none that names a pod (N69), is for everybody (N71), or leads into a
 * tunnel between nodes (N72) is nobody's that policy could judge.
 *
 *     forward ──▶ by a pod's link? ──▶ from-pods ──▶ the pod maps
 *         └─────▶ as one of our pods, by another link? drop
 *
 * Which links those are the kernel tells by their kind, so that a pod's first packet meets these rules although nobody
 * has heard of the pod: every veth but the node's own ways out, and bridges, of which the agent says which are of pods.
 */
import { type Address, type Cidr, FAMILIES, type Family, parseCidr } from '../model/address.ts';
import { broadcastsOf } from '../model/broadcasts.ts';
import type { Node, NodeLinks } from '../model/cluster.ts';
import { podCidrsOf } from '../model/podcidrs.ts';
import { LINK_GROUP, type PodLinks } from '../model/podlinks.ts';
import { addressInNetwork, hopsLeft, icmpTypeIs, neighbourDiscovery, verdict } from '../nft/match.ts';
import { interfaceGroupIs, noRouteBack } from '../nft/matchinterface.ts';
import type { Chain, Expr, NftRule, Ruleset } from '../nft/ruleset.ts';
import type { TablePart } from './attachedpods.ts';
import { exempt, LINK_LOCAL, MULTICAST, UNSPECIFIED } from './beforepolicy.ts';
import { OF_BRIDGE, toBroadcast } from './broadcasts.ts';
import { deny, denyLink } from './denied.ts';
import { FROM_PODS, podLinkMatches } from './linkmatches.ts';
import { errorSenders, toErrors } from './poderrors.ts';
import { NODE_ADDRESSES, tunnelPart, tunnelsFromPods } from './tunnels.ts';
import { TUNNEL_SETS } from './tunnelsin.ts';

/** What of this node these rules depend on. */
export interface NodeNetwork {
  readonly podCidrs: readonly Cidr[];
  readonly links: Omit<NodeLinks, 'podPorts' | 'bridgePorts'>;
  /** Who links the node's pods with it. */
  readonly podLinks: PodLinks;
}

export function nodeNetworkOf(node: Node | undefined, podLinks: PodLinks = 'others'): NodeNetwork {
  const { uplinks = [], podBridges = [], broadcasts = [], podTunnels } = node?.links ?? {};
  const links = { uplinks, podBridges, broadcasts, ...(podTunnels && { podTunnels }) };
  return { podCidrs: podCidrsOf(node), links, podLinks };
}

const NEIGHBOURS = 'neighbours';

export const FROM_ELSEWHERE = 'as a pod of this node, from elsewhere';

/** Leads what comes from pods to the chain of the hook, and drops what says that it does and comes by another link. */
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

/** `judged` are the rules that policy makes of the hook. */
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
      forged([...unlessAsked(network), ...noRouteBack()], 'from an address that is not the pod’s'),
      ...(hook === 'forward' ? [...toLinkLocal(family), ...forEverybody(family, network)] : []),
      ...tunnelsFromPods(family, hook, network.links),
      toErrors(),
      ...judged,
    ],
  };
}

/**
 * What comes by a link of our own was asked the same before (attachedpods.ts): to ask the routes is most of what all
 * this costs.
 */
function unlessAsked({ podLinks }: NodeNetwork): Expr[] {
  return podLinks === 'ours' ? interfaceGroupIs('iifgroup', LINK_GROUP, true) : [];
}

/** N69. What the kernel's question for the way back lets through, or cannot ask. */
function withoutAddress(family: Family, hook: 'forward' | 'input'): NftRule[] {
  const linkLocal =
    family === 'ip' ? [] : [forged(addressInNetwork(LINK_LOCAL, 'saddr'), 'from a link-local address')];
  if (hook === 'forward') return linkLocal; // nothing is routed that comes from no address
  const none = forged(addressInNetwork(UNSPECIFIED[family], 'saddr'), 'from no address');
  return [...exempt('dhcp', family), ...exempt('listenerReports', family), ...linkLocal, none];
}

/** N69. Behind the question who sends it: these are limited by the sender's address. */
function toLinkLocal(family: Family): NftRule[] {
  return family === 'ip' ? [] : [drop(addressInNetwork(LINK_LOCAL, 'daddr'), 'to a link-local address')];
}

const BROADCAST_AND_MULTICAST = parseCidr('224.0.0.0/3')!;

/** N71. */
function forEverybody(family: Family, { podCidrs, links }: NodeNetwork): NftRule[] {
  const many = addressInNetwork(family === 'ip' ? BROADCAST_AND_MULTICAST : MULTICAST, 'daddr');
  const ofPods = broadcastsOf(podCidrs).flatMap(address => toBroadcast(address, family));
  const ofBridges = (links.broadcasts ?? []).flatMap(address => toBroadcast(address, family));
  return [
    ...[many, ...ofPods].map(exprs => drop(exprs, 'from a pod to everybody')),
    ...ofBridges.map(exprs => drop(exprs, OF_BRIDGE)),
  ];
}

/** What these rules ask that other nodes have a say in; `node` is the one whose rules they are. */
export function linkPart(family: Family, nodes: ReadonlyMap<string, Node>, node: string): TablePart {
  const { chains, sets } = tunnelPart(family, [...nodes.values()], nodes.get(node)?.links);
  return { chains, sets: [...sets, errorSenders(family)] };
}

/** N63: neighbour discovery is never asked for by policy, and never leaves its link. */
export function toNeighbours(): NftRule {
  return { exprs: [...neighbourDiscovery(), verdict('goto', NEIGHBOURS)], comment: 'neighbour discovery' };
}

/** RFC 4861: with fewer than 255 hops left it comes from further away, or pretends to be what it is not. */
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

/** Its source address says nothing of who sent it. */
function forged(exprs: readonly Expr[], comment: string): NftRule {
  return { exprs: [...exprs, denyLink()], comment };
}

function drop(exprs: readonly Expr[], comment: string): NftRule {
  return { exprs: [...exprs, deny()], comment };
}

/** The addresses of all nodes, as rules that are programmed have them, or all at which tunnels may end. */
export function nodeAddressesIn({ tables }: Ruleset, which: 'listed' | 'tunnel ends' = 'listed'): Address[] {
  const name = which === 'listed' ? NODE_ADDRESSES : TUNNEL_SETS.ends;
  const keys = FAMILIES.flatMap(family => [...(tables.get(family)?.sets.get(name)?.elements.keys() ?? [])]);
  return keys as Address[];
}
