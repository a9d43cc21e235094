/** Near misses: the rules that would have allowed a connection if one or two things were different. */
import {
  type Address,
  cidrContains,
  cidrText,
  FAMILY_NAME,
  type Family,
  familyOf,
} from '../../model/address.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, namespaceOf, type Pod } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction, Peer, Policy, PolicyId, Rule, Tier } from '../../model/policy.ts';
import { type LabelSelector, type Labels, matchesLabels, type Requirement } from '../../model/selector.ts';
import { packetOf } from '../../semantics/evaluate.ts';
import { matchingPeer, matchingPort, matchRule, type Packet } from '../../semantics/match.ts';
import { portText } from '../../semantics/reason.ts';
import { viewOf } from '../../semantics/view.ts';

export interface NearMiss {
  readonly policy: PolicyId;
  readonly rule: string;
  /** The things that would have to be different, each in words: `guest/visitor had app=api`. */
  readonly needs: readonly string[];
}

/** Further away than this is not near. */
const MOST_NEEDS = 2;
const MOST_SHOWN = 3;

/** The nearest first; empty if no policy selects the pod in this direction. */
export function nearMisses(
  cluster: Cluster,
  flow: Flow,
  direction: Direction,
  unknownPods: UnknownPods,
): readonly NearMiss[] {
  const view = viewOf(cluster, unknownPods);
  const packet = packetOf(view, direction, flow);
  if (typeof packet === 'string') return [];
  const policies = TIERS.flatMap(tier => view.policiesOn(packet.subject, direction, tier));
  return policies
    .flatMap(policy => missesOf(cluster, policy, packet))
    .filter(({ needs }) => needs.length > 0 && needs.length <= MOST_NEEDS)
    .toSorted((a, b) => a.needs.length - b.needs.length)
    .slice(0, MOST_SHOWN);
}

const TIERS: readonly Tier[] = ['admin', 'networkpolicy', 'baseline'];

function missesOf(cluster: Cluster, policy: Policy, packet: Packet): readonly NearMiss[] {
  const rules = (policy[packet.direction] ?? []).filter(({ action }) => action === 'accept');
  return rules
    .filter(rule => matchRule(cluster, rule, packet) === 'no')
    .map(rule => ({ policy: policy.id, rule: rule.path, needs: needsOf(cluster, rule, packet) }));
}

function needsOf(cluster: Cluster, rule: Rule, packet: Packet): readonly string[] {
  const port = matchingPort(rule, packet) === undefined ? [portNeed(rule)] : [];
  const peer = matchingPeer(cluster, rule, packet) === undefined ? peerNeeds(cluster, rule, packet) : [];
  return [...peer, ...port];
}

function portNeed({ ports }: Rule): string {
  if (ports === 'any' || ports.length === 0) return 'the rule had a port';
  const shown = ports.slice(0, 3).map(portText);
  return `it went to ${shown.join(' or ')}${ports.length > 3 ? ', …' : ''}`;
}

/** The needs of the peer that has fewest. */
function peerNeeds(cluster: Cluster, { peers }: Rule, packet: Packet): readonly string[] {
  if (peers === 'any') return [];
  const needs = peers.map(peer => needsOfPeer(cluster, peer, packet));
  return needs.toSorted((a, b) => a.length - b.length)[0] ?? TOO_FAR;
}

const TOO_FAR: readonly string[] = Array.from({ length: MOST_NEEDS + 1 }, () => '');

function needsOfPeer(
  cluster: Cluster,
  peer: Peer,
  { subject, peerPod, peer: address }: Packet,
): readonly string[] {
  switch (peer.kind) {
    case 'pods':
      return peerPod === undefined ? TOO_FAR : podNeeds(cluster, peer, peerPod);
    case 'network':
      return networkNeeds(peer, peerPod?.key ?? address, peerPod?.addresses ?? [address], familyOf(address));
    case 'domain':
      return peerPod === undefined
        ? [`${subject.key} had received a DNS answer that ${peer.name} is ${address}`]
        : TOO_FAR;
    default:
      return TOO_FAR;
  }
}

function podNeeds(cluster: Cluster, { selector }: Peer & { kind: 'pods' }, pod: Pod): readonly string[] {
  const { namespaces, pods } = selector;
  const own = namespaceOf(cluster, pod.namespace);
  const place =
    namespaces.kind === 'name'
      ? namespaces.name === pod.namespace
        ? []
        : [`${pod.key} were in namespace ${namespaces.name}`]
      : labelNeeds(namespaces.selector, own.labels, `namespace ${pod.namespace}`, pod.key);
  return [...place, ...labelNeeds(pods, pod.labels, pod.key, pod.key)];
}

function labelNeeds(selector: LabelSelector, labels: Labels, who: string, pod: string): readonly string[] {
  return selector.requirements
    .filter(requirement => !matchesLabels({ requirements: [requirement] }, labels))
    .map(requirement => needText(requirement, who, pod));
}

function needText({ key, operator, values }: Requirement, who: string, pod: string): string {
  if (key === NAMESPACE_NAME_LABEL && operator === 'In')
    return `${pod} were in namespace ${values.join(' or ')}`;
  switch (operator) {
    case 'In':
      return `${who} had ${key}=${values.join(` or ${key}=`)}`;
    case 'NotIn':
      return `${who} had another ${key} than ${values.join(' and ')}`;
    case 'Exists':
      return `${who} had the label ${key}`;
    case 'DoesNotExist':
      return `${who} had no label ${key}`;
  }
}

/** Only for one's own networks: 0.0.0.0/0 is missed by the family alone, which is no near miss. */
function networkNeeds(
  { cidr, except }: Peer & { kind: 'network' },
  who: string,
  addresses: readonly Address[],
  family: Family,
): readonly string[] {
  if (cidr.family !== family) {
    const isMeant = (address: Address) =>
      cidrContains(cidr, address) && !except.some(hole => cidrContains(hole, address));
    return addresses.some(isMeant) ? [`it went over ${FAMILY_NAME[cidr.family]}`] : TOO_FAR;
  }
  if (cidr.prefix === 0 && except.length === 0) return TOO_FAR;
  const but = except.length === 0 ? '' : `, and not of ${except.slice(0, 3).map(cidrText).join(', ')}`;
  return [`the address of ${who} were of ${cidrText(cidr)}${but}`];
}
