/** Near misses: the rules that would have allowed a connection if one or two things were different. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import {
  type Address,
  cidrContains,
  cidrText,
  FAMILY_NAME,
  type Family,
  familyOf,
  parseAddress,
} from '../../model/address.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, namespaceOf, type Pod } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { Labelled } from '../../model/labels.ts';
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

interface Surroundings {
  /** The ports of Services that lead to the port of the flow. */
  readonly servicePorts?: readonly number[];
  /** Their pods have the labels of their templates, whether there are any yet or not. */
  readonly workloads?: Iterable<Labelled>;
}

/** The nearest first; empty if no policy selects the pod in this direction. */
export function nearMisses(
  cluster: Cluster,
  flow: Flow,
  direction: Direction,
  unknownPods: UnknownPods,
  { servicePorts = [], workloads = [] }: Surroundings = {},
): readonly NearMiss[] {
  const view = viewOf(cluster, unknownPods);
  const packet = packetOf(view, direction, flow);
  if (typeof packet === 'string') return [];
  const policies = TIERS.flatMap(tier => view.policiesOn(packet.subject, direction, tier));
  const known = {
    cluster,
    servicePorts,
    podLabels: knownLabels([...cluster.pods.values(), ...workloads]),
    namespaceLabels: knownLabels([...cluster.namespaces.values()]),
  };
  return policies
    .flatMap(policy => missesOf(known, policy, packet))
    .filter(({ needs }) => needs.length > 0 && needs.length <= MOST_NEEDS)
    .toSorted((a, b) => a.needs.length - b.needs.length)
    .slice(0, MOST_SHOWN);
}

const TIERS: readonly Tier[] = ['admin', 'networkpolicy', 'baseline'];

/** The values that any of the objects has of a label. */
type KnownLabels = (key: string) => ReadonlySet<string>;

interface Known {
  readonly cluster: Cluster;
  readonly servicePorts: readonly number[];
  readonly podLabels: KnownLabels;
  readonly namespaceLabels: KnownLabels;
}

function knownLabels(objects: readonly Labelled[]): KnownLabels {
  const byKey = new Map<string, ReadonlySet<string>>();
  return key => getOrMake(byKey, key, () => new Set(objects.flatMap(({ labels }) => labels[key] ?? [])));
}

function missesOf(known: Known, policy: Policy, packet: Packet): readonly NearMiss[] {
  const rules = (policy[packet.direction] ?? []).filter(({ action }) => action === 'accept');
  return rules
    .filter(rule => matchRule(known.cluster, rule, packet) === 'no')
    .map(rule => ({ policy: policy.id, rule: rule.path, needs: needsOf(known, rule, packet) }));
}

function needsOf(known: Known, rule: Rule, packet: Packet): readonly string[] {
  const port = matchingPort(rule, packet) === undefined ? [portNeed(known, rule, packet)] : [];
  const isPeer = matchingPeer(known.cluster, rule, packet) !== undefined;
  return [...(isPeer ? [] : peerNeeds(known, rule, packet)), ...port];
}

function portNeed({ servicePorts }: Known, rule: Rule, packet: Packet): string {
  const { flow } = packet;
  const { ports } = rule;
  if (ports === 'any' || ports.length === 0) return 'the rule had a port';
  const named = servicePorts.find(
    port => matchingPort(rule, { ...packet, flow: { ...flow, port } }) !== undefined,
  );
  if (named !== undefined)
    return `the rule named port ${flow.port}, which policy sees, and not ${named}, which is the Service's`;
  const shown = ports.slice(0, 3).map(portText);
  return `it went to ${shown.join(' or ')}${ports.length > 3 ? ', …' : ''}`;
}

/** The needs of the peer that has fewest. */
function peerNeeds(known: Known, { peers }: Rule, packet: Packet): readonly string[] {
  if (peers === 'any') return [];
  const needs = peers.map(peer => needsOfPeer(known, peer, packet));
  return needs.toSorted((a, b) => a.length - b.length)[0] ?? TOO_FAR;
}

const TOO_FAR: readonly string[] = Array.from({ length: MOST_NEEDS + 1 }, () => '');

function needsOfPeer(
  known: Known,
  peer: Peer,
  { subject, peerPod, peer: address }: Packet,
): readonly string[] {
  switch (peer.kind) {
    case 'pods':
      return peerPod === undefined ? TOO_FAR : podNeeds(known, peer, peerPod);
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

function podNeeds(
  { cluster, podLabels, namespaceLabels }: Known,
  { selector }: Peer & { kind: 'pods' },
  pod: Pod,
): readonly string[] {
  const { namespaces, pods } = selector;
  const own = namespaceOf(cluster, pod.namespace);
  const place =
    namespaces.kind === 'name'
      ? namespaces.name === pod.namespace
        ? []
        : [`${pod.key} were in namespace ${namespaces.name}`]
      : labelNeeds(namespaces.selector, own.labels).map(requirement =>
          isName(requirement)
            ? `${pod.key} were in namespace ${requirement.values.join(' or ')}${noNamespaceText(requirement, cluster)}`
            : needText(
                requirement,
                `namespace ${pod.namespace}`,
                unknownText(requirement, namespaceLabels, 'namespace'),
              ),
        );
  return [
    ...place,
    ...labelNeeds(pods, pod.labels).map(requirement =>
      needText(requirement, pod.key, unknownText(requirement, podLabels, 'pod')),
    ),
  ];
}

function labelNeeds({ requirements }: LabelSelector, labels: Labels): readonly Requirement[] {
  return requirements.filter(requirement => !matchesLabels({ requirements: [requirement] }, labels));
}

function isName({ key, operator }: Requirement): boolean {
  return key === NAMESPACE_NAME_LABEL && operator === 'In';
}

/** Where none of them is there: most likely the name is mistyped. */
function noNamespaceText({ values }: Requirement, { namespaces }: Cluster): string {
  if (namespaces.size === 0 || values.some(value => namespaces.has(value))) return '';
  const close = values.flatMap(value => didYouMean(value, [...namespaces.keys()]) ?? []);
  const hint = close.length === 0 ? '' : `; did you mean ${close.join(' or ')}?`;
  return ` (which is not there${hint})`;
}

/** For a label that no object of the cluster has: most likely the selector is wrong, and not the object. */
function unknownText({ key, operator, values }: Requirement, known: KnownLabels, noun: string): string {
  if (operator !== 'In' || values.some(value => known(key).has(value))) return '';
  const close = values.flatMap(value => didYouMean(value, [...known(key)]) ?? []);
  const hint = close.length === 0 ? '' : `; did you mean ${key}=${close.join(` or ${key}=`)}?`;
  return ` (no ${noun} has it${hint})`;
}

function needText({ key, operator, values }: Requirement, who: string, unknown: string): string {
  switch (operator) {
    case 'In':
      return `${who} had ${key}=${values.join(` or ${key}=`)}${unknown}`;
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
  const but = except.length === 0 ? '' : `, and not in ${except.slice(0, 3).map(cidrText).join(', ')}`;
  const whose = parseAddress(who) === undefined ? `the address of ${who}` : who;
  return [`${whose} were in ${cidrText(cidr)}${but}`];
}
