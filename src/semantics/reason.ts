/** The sentences that explain a verdict. */

import { assertNever } from '../lib/text/assert.ts';
import { firstOf } from '../lib/text/firstof.ts';
import { type Address, type Cidr, cidrText } from '../model/address.ts';
import type { Cluster, Node, Pod } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { Action, Direction, Peer, Policy, PortMatch, Rule } from '../model/policy.ts';
import { whyClosed, whyNothingIsAllowed } from '../model/policystatus.ts';
import { podSelectorText, selectorText } from '../model/selector.ts';
import { matchingPeer, matchingPort, matchRule, type Packet } from './match.ts';
import { firstMatch, type View } from './view.ts';

export function noPod(address: string): string {
  return `${address} is not a pod: no policy applies on this side`;
}

/** Of a pod that has the address of its node (N45). */
export function onNodeNetwork(name: string): string {
  return `${name} is on its node's network: policy does not select it`;
}

export function unknownPod(address: Address, { name }: Node, direction: Direction): string {
  const what = direction === 'egress' ? 'packets from it' : 'packets to it';
  return `${address} is in the pod network of node ${name}, and no known pod has it: ${what} are denied`;
}

export function tunnelEnd(flow: Flow, { name }: Node): string {
  return `${tunnelText(flow)} of node ${name} is a tunnel between nodes: what pods send there is denied`;
}

export function tunnelOutOfNetworks(flow: Flow, { name }: Node): string {
  const what = `node ${name} has a tunnel of its own on ${tunnelText(flow)}`;
  return `${what}: what its pods send there, out of the pod networks, may be for another node's end and is denied`;
}

function tunnelText({ protocol, port }: Flow): string {
  return port === undefined ? `protocol ${protocol}` : `${protocol} ${port}`;
}

export function itself(pod: Pod): string {
  return `${pod.key} always reaches itself`;
}

export function ownNode(pod: Pod): string {
  return `node ${pod.node} always reaches its own pod ${pod.key}`;
}

/** `NetworkPolicy shop/web ingress[0] allows pods app=lb in namespace shop on TCP 80`. */
export function ruleSays({ cluster }: View, policy: Policy, rule: Rule, packet: Packet): string {
  const peer = peerText(matchingPeer(cluster, rule, packet) ?? 'any');
  const port = portText(matchingPort(rule, packet) ?? 'any');
  return `${ruleName(policy, rule)} ${VERBS[rule.action]} ${peer} on ${port}${doubt(cluster, policy, rule, packet)}`;
}

/** N68: why it is not known whether the policy or rule applies. */
function doubt(cluster: Cluster, policy: Policy, rule: Rule, packet: Packet): string {
  const { subject, peerPod } = packet;
  if (policy.uncertain && subject.closed) return `; what it allows to ${subject.key} is on its way`;
  if (policy.uncertain) return `; it is not known whether the policy selects ${subject.key}`;
  if (policy.closed === 'nodes unread' && rule.action === 'deny' && rule.peers === 'any')
    return `; ${whyClosed(policy.closed)}`;
  if (peerPod === undefined || matchRule(cluster, rule, packet) !== 'unknown') return '';
  return `; it is not known whether that means ${peerPod.key}`;
}

const VERBS: Record<Action, string> = { accept: 'allows', deny: 'denies', pass: 'passes' };

function ruleName(policy: Policy, rule: Rule): string {
  return `${policy.id} ${rule.path}${rule.name ? ` "${rule.name}"` : ''}`;
}

/** `NetworkPolicies shop/a and shop/b select shop/web, and none allows ingress from shop/api on TCP 80`. */
export function isolatedReason(policies: readonly Policy[], packet: Packet): string {
  const names = policies.map(policy => policy.name);
  const [closed, ...others] = policies.filter(policy => whyNothingIsAllowed(policy) !== undefined);
  if (closed === undefined) return isolatedText(names, packet);
  const why = whyNothingIsAllowed(closed)!;
  if (names.length === 1)
    return `NetworkPolicy ${closed.name} selects ${packet.subject.key} and allows nothing: ${why}`;
  const closedOnes =
    others.length === 0
      ? `${closed.name} allows nothing`
      : `${closed.name} and ${others.length} more of them allow nothing`;
  return `${isolatedText(names, packet)}; ${closedOnes}: ${why}`;
}

function isolatedText(names: readonly string[], packet: Packet): string {
  const { subject, direction, flow } = packet;
  const end = `${direction} ${direction === 'ingress' ? 'from' : 'to'} ${peerName(packet)}`;
  const wanted = `allows ${end} on ${flow.protocol}${flow.port === undefined ? '' : ` ${flow.port}`}`;
  return names.length === 1
    ? `NetworkPolicy ${names[0]} selects ${subject.key}, and no rule of it ${wanted}`
    : `NetworkPolicies ${listed(names)} select ${subject.key}, and none ${wanted}`;
}

/** N75: the address of a tunnel says nothing to people. */
function peerName({ peer, peerPod, peerTunnel }: Packet): string {
  if (peerPod !== undefined) return peerPod.key;
  return peerTunnel === undefined ? peer : `node ${peerTunnel.name} (${peer})`;
}

function listed(names: readonly string[]): string {
  if (names.length > 3) return `${names[0]} and ${names.length - 1} others`;
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

export function undecided(view: View, packet: Packet): string {
  const { subject, direction } = packet;
  const passed = passes(view, packet);
  if (passed !== undefined) return `${passed}, and nothing after it decides`;
  const selecting = TIERS.some(tier => view.policiesOn(subject, direction, tier).length > 0);
  return selecting
    ? `no rule of the policies that select ${subject.key} for ${direction} matches`
    : `no policy selects ${subject.key} for ${direction}`;
}

const TIERS = ['baseline', 'admin'] as const;

/** The sentence of the last Pass on the way, if there was one. */
function passes(view: View, packet: Packet): string | undefined {
  for (const tier of TIERS) {
    const match = firstMatch(view, tier, packet);
    if (match !== undefined) return ruleSays(view, match.policy, match.rule, packet);
  }
  return undefined;
}

export function peerText(peer: 'any' | Peer): string {
  if (peer === 'any') return 'any peer';
  switch (peer.kind) {
    case 'pods':
      return podSelectorText(peer.selector);
    case 'nodes':
      return peer.selector.requirements.length === 0 ? 'all nodes' : `nodes ${selectorText(peer.selector)}`;
    case 'network':
      return `network ${cidrText(peer.cidr)}${exceptText(peer.except)}`;
    case 'domain':
      return `domain ${peer.name}`;
    default:
      return assertNever(peer);
  }
}

const MOST_EXCEPTIONS = 5;

function exceptText(except: readonly Cidr[]): string {
  return except.length === 0 ? '' : ` except ${firstOf(except, MOST_EXCEPTIONS, cidrText)}`;
}

export function portText(port: 'any' | PortMatch): string {
  if (port === 'any') return 'any port';
  switch (port.kind) {
    case 'protocol':
      return `any ${port.protocol} port`;
    case 'range':
      return `${port.protocol} ${port.first === port.last ? port.first : `${port.first}-${port.last}`}`;
    case 'named':
      return `port ${port.protocol === undefined ? '' : `${port.protocol} `}"${port.name}"`;
    default:
      return assertNever(port);
  }
}
