/**
 * Why the rules of this node denied a packet. The kernel reports the packet and the hook, the reference says which
 * policy denies it, and all other causes follow from the packet itself. Causes are tried in the order of the rules
 * (compiler/base.ts); if none of them applies, the answer says so.
 */
import { type Address, cidrContains, familyOf, parseCidr } from '../../model/address.ts';
import { broadcastsOf } from '../../model/broadcasts.ts';
import { isNodeItself, type Pod } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import { isIcmpError } from '../../model/icmperrors.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import type { Direction, PolicyId, Tier } from '../../model/policy.ts';
import { isOwnTunnel, isTunnel } from '../../model/tunnels.ts';
import { type DirectionVerdict, judgeDirection } from '../../semantics/evaluate.ts';
import { tunnelEnd, tunnelOutOfNetworks } from '../../semantics/reason.ts';
import type { Cause } from './denial.ts';
import { flowOfDenied } from './flowofdenial.ts';
import type { ModelView } from './modelview.ts';
import type { PacketHead } from './packethead.ts';

/** A denied packet, with the kernel's data besides its bytes. */
export interface DeniedPacket {
  readonly head: PacketHead;
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting' | undefined;
  /** Whether the rules found that the source address does not belong to the sender, or did not check it. */
  readonly isOfLink?: boolean;
  /** The index of the interface by which it came. */
  readonly iif?: number;
  readonly dialled?: { readonly address: Address; readonly port?: number };
}

export function causeOf(packet: DeniedPacket, view: ModelView): Cause {
  return (
    discoveryCause(packet) ??
    forgedCause(packet) ??
    linkCause(packet) ??
    broadcastCause(packet, view) ??
    errorCause(packet, view) ??
    pieceCause(packet, view) ??
    midStreamCause(packet, view) ??
    cutCause(packet) ??
    policyCause(packet, view) ??
    tunnelCause(packet, view) ??
    otherLinkCause(packet, view) ??
    UNEXPLAINED
  );
}

const UNEXPLAINED: Cause = {
  kind: 'unexplained',
  reason:
    'the rules denied it, and what the agent knows now allows it: pods or policies have just changed, or the packet did not come by the link of the pod whose address it bears',
};

/** The rules see the protocol behind all headers; policy, evaluated without it, might name another cause. */
function cutCause({ head }: DeniedPacket): Cause | undefined {
  if (!head.cut) return undefined;
  const reason = 'its headers are longer than what is handed over, so its protocol and port are not known';
  return { kind: 'unexplained', reason };
}

/** RFC 4861: NS, NA, RS, RA and redirects. */
const [FIRST_DISCOVERY, LAST_DISCOVERY, ADVERTISEMENT] = [133, 137, 134];

function discoveryCause({ head: { from, icmp }, hook }: DeniedPacket): Cause | undefined {
  if (icmp === undefined || !from.includes(':')) return undefined;
  if (icmp.type < FIRST_DISCOVERY || icmp.type > LAST_DISCOVERY) return undefined;
  const misleads = icmp.type === ADVERTISEMENT || icmp.type === LAST_DISCOVERY;
  if (misleads || hook === 'prerouting') return link('a pod is no router: what it says of routes is denied');
  return link('neighbour discovery that did not come from a neighbour (its hop limit is not 255)');
}

function link(reason: string): Cause {
  return { kind: 'link', reason };
}

const OPENING_MASK = 0x17; // FIN, SYN, RST, ACK
const SYN = 2;
const SCTP_INIT = 1;

/** Whether the packet is of an open connection, in the protocols that show it. */
function isOfTheMiddle({ tcp, sctp }: PacketHead): boolean {
  if (tcp !== undefined) return (tcp.flags & OPENING_MASK) !== SYN;
  return sctp !== undefined && sctp.chunk !== SCTP_INIT;
}

/** docs/decisions/0005: only the end that opened a connection may resume it with a packet from its middle. */
function midStreamCause({ head, hook }: DeniedPacket, view: ModelView): Cause | undefined {
  const { from, to } = head;
  if (!isOfTheMiddle(head)) return undefined;
  const [sender, receiver] = [localPod(view, from), localPod(view, to)];
  if (hook === 'output')
    return (
      receiver &&
      midStream('egress', `${receiver.key} has policies for egress: its node may not make one of it`)
    );
  if (hook !== 'forward') return undefined;
  if (sender !== undefined && isAffected(view, sender, 'ingress'))
    return midStream(
      'ingress',
      `${sender.key} has policies for ingress: what it sends may not make one of it`,
    );
  if (receiver !== undefined && isAffected(view, receiver, 'egress'))
    return midStream(
      'egress',
      `${receiver.key} has policies for egress: what it is sent may not make one of it`,
    );
  return undefined;
}

function midStream(direction: Direction, why: string): Cause {
  const reason = `no first packet of a connection, and the kernel knows none that it is part of (it was cut, or forgotten); ${why}`;
  return { kind: 'mid-stream', direction, reason };
}

const TIERS: readonly Tier[] = ['admin', 'networkpolicy', 'baseline'];

function isAffected(view: ModelView, pod: Pod, direction: Direction): boolean {
  return TIERS.some(tier => view.policiesOn(pod, direction, tier).length > 0);
}

function localPod(view: ModelView, address: Address): Pod | undefined {
  const pod = view.ownerOf(address);
  return pod?.node === view.node ? pod : undefined;
}

const LINK_LOCAL = parseCidr('fe80::/10')!;
const FOR_MANY = [parseCidr('224.0.0.0/3')!, parseCidr('ff00::/8')!];
const LOOPBACK_NETWORK = parseCidr('127.0.0.0/8')!;
const LOOPBACK = 1;

/** N69 to N71, and the checks of the source (compiler/podlinks.ts, attachedpods.ts). */
function linkCause({ head: { from, to }, hook }: DeniedPacket): Cause | undefined {
  if (hook === 'prerouting') return link(`${from} is not an address of the pod that sent it`);
  if (hook !== 'forward' && hook !== 'input') return undefined;
  if (cidrContains(LINK_LOCAL, from))
    return link('from a link-local address, which says of no pod that it sends');
  if (hook === 'forward' && cidrContains(LINK_LOCAL, to))
    return link('to a link-local address beyond the link of the pod');
  if (hook === 'input' && cidrContains(LOOPBACK_NETWORK, to))
    return link('from a pod to a loopback address of its node, which is for the node alone');
  if (hook === 'forward' && FOR_MANY.some(cidr => cidrContains(cidr, to))) return link(TO_EVERYBODY);
  return undefined;
}

const TO_EVERYBODY = 'from a pod to a multicast or broadcast address: policy could not judge who is meant';

/** N71, of the networks of this node's pods and bridges. */
function broadcastCause({ head: { to }, hook, iif }: DeniedPacket, view: ModelView): Cause | undefined {
  if (hook !== 'forward' || isFromElsewhere(iif, view)) return undefined;
  const own = view.cluster.nodes.get(view.node);
  const broadcasts = [...broadcastsOf(podCidrsOf(own)), ...(own?.links?.broadcasts ?? [])];
  return broadcasts.includes(to) ? link(TO_EVERYBODY) : undefined;
}

function isFromElsewhere(iif: number | undefined, { cluster, node }: ModelView): boolean {
  return cluster.nodes.get(node)?.links?.uplinks.includes(iif ?? LOOPBACK) ?? false;
}

/** A packet that the kernel has reassembled no longer shows that it was fragmented (compiler/poderrors.ts). */
function pieceCause({ head, hook, iif }: DeniedPacket, view: ModelView): Cause | undefined {
  if (head.fragment === undefined || familyOf(head.from) === 'ip') return undefined;
  if ((hook !== 'forward' && hook !== 'input') || isFromElsewhere(iif, view)) return undefined;
  return link('a fragment of a packet that was not reassembled: policy could not judge what it carries');
}

function isError({ icmp, from }: PacketHead): boolean {
  return icmp !== undefined && isIcmpError(familyOf(from), icmp.type);
}

/** N74. Errors that pods send never come to policy. */
function errorCause({ head, hook }: DeniedPacket, view: ModelView): Cause | undefined {
  if ((hook !== 'forward' && hook !== 'input') || !isError(head)) return undefined;
  const sender = localPod(view, head.from);
  return sender && link(`an ICMP error about no connection of ${sender.key}, which sends it`);
}

/** The rules looked up the route of the packet, and that lookup cannot be repeated here. */
function forgedCause(packet: DeniedPacket): Cause | undefined {
  if (!packet.isOfLink) return undefined;
  const { head, iif } = packet;
  const by = iif === undefined ? '' : ` (interface ${iif})`;
  return linkCause(packet) ?? link(`${head.from} is not an address of the pod that sent it${by}`);
}

/** N72, for a sender behind a link of pods that is no pod known to the agent. */
function tunnelCause({ head, hook, iif }: DeniedPacket, view: ModelView): Cause | undefined {
  const own = view.cluster.nodes.get(view.node);
  if (!isTunnel(head, own?.links) || (hook !== 'forward' && hook !== 'input')) return undefined;
  const node = view.nodeWith(head.to) ?? view.tunnels.endAt(head.to);
  if (isFromElsewhere(iif, view)) {
    const isOfPod = view.tunnels.isInPodNetworks(head.from) && !view.tunnels.isListed(head.from);
    return hook === 'input' && isOfPod && own !== undefined ? link(tunnelEnd(head, own)) : undefined;
  }
  if (node !== undefined) return link(tunnelEnd(head, node));
  const leaves = own !== undefined && isOwnTunnel(head, own.links) && !view.tunnels.isInPodNetworks(head.to);
  return leaves ? link(tunnelOutOfNetworks(head, own)) : undefined;
}

/**
 * For packets that no policy denies: whether a pod can have sent the packet by this interface follows from the node's
 * links.
 */
function otherLinkCause({ head: { from }, hook, iif }: DeniedPacket, view: ModelView): Cause | undefined {
  if (iif === undefined || iif === LOOPBACK || hook === 'output') return undefined;
  const own = view.cluster.nodes.get(view.node);
  if (own?.links === undefined) return undefined;
  const fromElsewhere = own.links.uplinks.includes(iif);
  const isLocal =
    localPod(view, from) !== undefined || podCidrsOf(own).some(cidr => cidrContains(cidr, from));
  if (fromElsewhere && isLocal && !isNodeItself(own, from))
    return link(`as a pod of this node, and came from elsewhere (interface ${iif})`);
  if (!fromElsewhere && !isLocal && view.ownerOf(from)?.node !== view.node)
    return link(`${from} is not an address of the pod that sent it (interface ${iif})`);
  return undefined;
}

/** Each direction is enforced on the node of its pod: a denial of another node did not happen here. */
function policyCause({ head, hook, dialled }: DeniedPacket, view: ModelView): Cause | undefined {
  const flow = flowOfDenied(head, dialled !== undefined && dialled.address !== head.to);
  const asked: readonly Direction[] =
    hook === 'input' ? ['egress'] : hook === 'output' ? [] : ['egress', 'ingress'];
  for (const direction of asked) {
    if (!isEnforcedHere(view, direction === 'egress' ? flow.from : flow.to)) continue;
    const verdict = judgeDirection(view, direction, flow);
    if (verdict.verdict === 'deny') return causeBy(direction, verdict, flow, view);
  }
  return undefined;
}

function isEnforcedHere(view: ModelView, address: Address): boolean {
  return (view.ownerOf(address)?.node ?? view.nodeDenyingUnknownPod(address)?.name) === view.node;
}

function causeBy(direction: Direction, verdict: DirectionVerdict, flow: Flow, view: ModelView): Cause {
  const { tier, policy, rule, reason } = verdict;
  if (tier === 'default') {
    const own = direction === 'egress' ? flow.from : flow.to;
    return {
      kind: view.nodeDenyingUnknownPod(own) === undefined ? 'link' : 'unknown-pod',
      direction,
      reason,
    };
  }
  return {
    kind: 'policy',
    direction,
    tier,
    ...(policy !== undefined && { policy, policies: [policy] }),
    ...(rule === undefined && { policies: isolatingPolicies(direction, flow, view) }),
    ...(rule !== undefined && { rule }),
    reason,
  };
}

/** N1: if several policies isolate a pod and none allows the connection, each of them denies it. */
function isolatingPolicies(direction: Direction, { from, to }: Flow, view: ModelView): PolicyId[] {
  const pod = view.ownerOf(direction === 'egress' ? from : to);
  return pod === undefined ? [] : view.policiesOn(pod, direction, 'networkpolicy').map(({ id }) => id);
}
