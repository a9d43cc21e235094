/**
 * The reference semantics: what the API's documentation says about one connection attempt, read top to bottom.
 * It is written to be right and to be read; what the kernel enforces is compiled elsewhere and proven equal.
 *
 *   egress of the source ──▶ ingress of the destination          both must allow (N36, C2)
 *   in each: Admin ──▶ NetworkPolicy ──▶ Baseline ──▶ allow      the first that decides wins (C1)
 */

import type { Address } from '../model/address.ts';
import { isPodsInstead } from '../model/addressowners.ts';
import { type Cluster, isNodeItself, type Node } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { Direction, PolicyId, Tier } from '../model/policy.ts';
import { isOwnTunnel, isTunnel } from '../model/tunnels.ts';
import type { Packet } from './match.ts';
import * as because from './reason.ts';
import { firstMatch, type View, viewOf } from './view.ts';

export interface DirectionVerdict {
  readonly verdict: 'allow' | 'deny';
  readonly tier: Tier | 'default';
  readonly policy?: PolicyId;
  /** `ingress[0]`; absent if a NetworkPolicy isolates and no rule matches. */
  readonly rule?: string;
  /** Why, as one sentence for people. */
  readonly reason: string;
}

export interface FlowVerdict {
  readonly verdict: 'allow' | 'deny';
  readonly egress: DirectionVerdict;
  readonly ingress: DirectionVerdict;
}

export function evaluate(cluster: Cluster, flow: Flow, unknownPods?: UnknownPods): FlowVerdict {
  return evaluator(cluster, unknownPods)(flow);
}

/**
 * `evaluate` for many flows of one cluster, which must not change meanwhile. With `node`, as that node sees the
 * cluster.
 */
export function evaluator(
  cluster: Cluster,
  unknownPods?: UnknownPods,
  node?: string,
): (flow: Flow) => FlowVerdict {
  return evaluatorOf(viewOf(cluster, unknownPods, node));
}

/** `evaluate` for many flows of a view that the caller has already. */
export function evaluatorOf(view: View): (flow: Flow) => FlowVerdict {
  return flow => {
    const egress = judgeDirection(view, 'egress', flow);
    const ingress = judgeDirection(view, 'ingress', flow);
    const verdict = egress.verdict === 'allow' && ingress.verdict === 'allow' ? 'allow' : 'deny';
    return { verdict, egress, ingress };
  };
}

/** Judges one direction of a flow, for a caller that keeps a view of the cluster. */
export function judgeDirection(view: View, direction: Direction, flow: Flow): DirectionVerdict {
  const unknown = unknownPod(view, direction, flow);
  if (unknown !== undefined) return { verdict: 'deny', tier: 'default', reason: unknown };
  const tunnel = direction === 'egress' ? tunnelFromPod(view, flow) : tunnelAtNode(view, flow);
  if (tunnel !== undefined) return { verdict: 'deny', tier: 'default', reason: tunnel };
  const packet = packetOf(view, direction, flow);
  return typeof packet === 'string' ? unaffected(packet) : judge(view, packet);
}

/** N72: a packet out of a tunnel between nodes counts as checked by the sending node. So the pod's node denies it … */
function tunnelFromPod(view: View, flow: Flow): string | undefined {
  if (flow.from === flow.to && !flow.viaService) return undefined; // N40
  const sender = nodeOfPodAt(view, flow.from);
  if (sender === undefined) return undefined;
  const own = view.cluster.nodes.get(sender);
  const links = view.tunnels.linksOf(own);
  if (links.podTunnels === 'allow' || !isTunnel(flow, links)) return undefined;
  if (own !== undefined && isOfNode(view, own, flow.to)) return because.tunnelEnd(flow, own);
  const node = view.tunnels.endAt(flow.to);
  if (node !== undefined) return because.tunnelEnd(flow, node);
  const leaves = own !== undefined && isOwnTunnel(flow, links) && !view.tunnels.isInPodNetworks(flow.to);
  return leaves ? because.tunnelOutOfNetworks(flow, own) : undefined;
}

/** … and the node at which it arrives denies it too, at any of its addresses, if a pod may have sent it. */
function tunnelAtNode(view: View, flow: Flow): string | undefined {
  const node = view.nodeWith(flow.to);
  const links = view.tunnels.linksOf(node);
  if (node === undefined || links.podTunnels === 'allow' || !isTunnel(flow, links)) return undefined;
  // The packet never leaves the node.
  if (isOfNode(view, node, flow.from)) return undefined;
  const isOfPod = view.tunnels.isInPodNetworks(flow.from) && !view.tunnels.isListed(flow.from);
  return isOfPod ? because.tunnelEnd(flow, node) : undefined;
}

/** The node by whose links the packet arrives, whether the pod is known or not. */
function nodeOfPodAt({ owners, nodeOfUnknownPod }: View, address: Address): string | undefined {
  return owners.get(address)?.node ?? nodeOfUnknownPod(address)?.name;
}

/** N67: why traffic of an unknown pod at this end is denied, although no policy is known to select it. */
function unknownPod(view: View, direction: Direction, flow: Flow): string | undefined {
  const { from, to, viaService } = flow;
  if (from === to && !viaService) return undefined; // The packet never leaves its pod.
  const [own, peer] = direction === 'egress' ? [from, to] : [to, from];
  const node = view.nodeDenyingUnknownPod(own);
  if (node === undefined || (direction === 'ingress' && isFromNode(view, node, peer))) return undefined;
  return because.unknownPod(own, node, direction);
}

/** N43, N75: whether an address belongs to the node itself, be it that of a tunnel from which it sends. */
function isOfNode({ tunnelNodeAt }: View, node: Node | undefined, address: Address): boolean {
  return isNodeItself(node, address) || (node !== undefined && tunnelNodeAt(address) === node);
}

/** N43: whether the node itself sends from the address. */
function isFromNode(view: View, node: Node | undefined, address: Address): boolean {
  const { cluster, owners } = view;
  return isOfNode(view, node, address) && !isPodsInstead(node, address, owners.get(address), cluster.nodes);
}

/** The packet that policy judges in this direction, or the reason why policy does not apply. */
export function packetOf(view: View, direction: Direction, flow: Flow): Packet | string {
  const { cluster, owners } = view;
  const [own, peer] = direction === 'egress' ? [flow.from, flow.to] : [flow.to, flow.from];
  const subject = owners.get(own);
  const peerPod = owners.get(peer);
  if (subject === undefined) return because.noPod(own);
  // N40, 4.1, C47: a pod cannot block access to itself, unless it goes through a Service.
  if (subject === peerPod && !flow.viaService) return because.itself(subject);
  // N43: everything on a node, such as the kubelet with its probes, can reach the pods of that node.
  if (direction === 'ingress' && isFromNode(view, cluster.nodes.get(subject.node), peer))
    return because.ownNode(subject);
  const [peerTunnel, peerNodes] = [view.tunnelNodeAt(peer), view.nodesAt(peer)];
  return { flow, direction, subject, peer, peerPod, peerTunnel, peerNodes };
}

function unaffected(reason: string): DirectionVerdict {
  return { verdict: 'allow', tier: 'default', reason };
}

function judge(view: View, packet: Packet): DirectionVerdict {
  return (
    judgeAdmin(view, packet) ??
    judgeNetworkPolicy(view, packet) ??
    judgeBaseline(view, packet) ??
    unaffected(because.undecided(view, packet))
  );
}

function judgeAdmin(view: View, packet: Packet): DirectionVerdict | undefined {
  return judgeByFirstMatch(view, 'admin', packet);
}

/**
 * C7, C8: Baseline is not evaluated if a NetworkPolicy isolates the pod in this direction, because that tier always
 * decides.
 */
function judgeBaseline(view: View, packet: Packet): DirectionVerdict | undefined {
  return judgeByFirstMatch(view, 'baseline', packet);
}

/**
 * C6, C9, C13, C14: the first matching rule of the first policy that has one decides; Pass skips the rest of the tier.
 */
function judgeByFirstMatch(
  view: View,
  tier: 'admin' | 'baseline',
  packet: Packet,
): DirectionVerdict | undefined {
  const match = firstMatch(view, tier, packet);
  if (match === undefined || match.rule.action === 'pass') return undefined;
  const { policy, rule } = match;
  const verdict = rule.action === 'accept' ? 'allow' : 'deny';
  return {
    verdict,
    tier,
    policy: policy.id,
    rule: rule.path,
    reason: because.ruleSays(view, policy, rule, packet),
  };
}

/** N1, N2, N35: policies that select the pod isolate it. Together they allow what any rule of any of them matches. */
function judgeNetworkPolicy(view: View, packet: Packet): DirectionVerdict | undefined {
  const tier = 'networkpolicy';
  const isolating = view.policiesOn(packet.subject, packet.direction, tier);
  if (isolating.length === 0) return undefined;
  const match = firstMatch(view, tier, packet);
  if (match === undefined)
    return {
      verdict: 'deny',
      tier,
      policy: isolating[0]!.id,
      reason: because.isolatedReason(isolating, packet),
    };
  const { policy, rule } = match;
  return {
    verdict: 'allow',
    tier,
    policy: policy.id,
    rule: rule.path,
    reason: because.ruleSays(view, policy, rule, packet),
  };
}
