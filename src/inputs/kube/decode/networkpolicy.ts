import { type Cidr, cidrContains, parseCidr } from '../../../model/address.ts';
import { BUDGET, excessOf } from '../../../model/budget.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import { failClosed } from '../../../model/failclosed.ts';
import {
  type DecodedRule,
  type Direction,
  type Peer,
  type Policy,
  type PortMatch,
  PROTOCOLS,
  type Rule,
  type Unknown,
} from '../../../model/policy.ts';
import { EVERY_NAMESPACE, type PodSelector } from '../../../model/selector.ts';
import { asMap } from '../report/identity.ts';
import { describe, type Field, sizeProblem, UNKNOWN } from './fields.ts';
import { readLabelSelector, readSubjectSelector } from './labelselector.ts';
import { checkKeys, isPortName, readEnforcement, readName, readNamespace } from './metadata.ts';

const NOT_APPLIED = 'the policy is not applied; if it was good before, its last good version stays in force';
const SUBJECT_ISOLATED =
  'until it is fixed, the policy isolates every pod that the rest of the selector selects, and allows them nothing';
const BOTH_ISOLATED = 'the policy isolates its pods in both directions until it is fixed';
const TOO_LARGE = 'the policy isolates its pods and allows nothing until it is smaller';
const DIRECTION_CLOSED = 'no rule of this direction matches until it is fixed';
const RULE_CLOSED = 'the rule matches nothing until it is fixed';
const PEER_CLOSED = 'the peer matches nothing until it is fixed';
const PORT_CLOSED = 'the port matches nothing until it is fixed';

/**
 * networking.k8s.io/v1. Rules only ever allow, so a bad part matches nothing and the other parts stay in force (N24).
 */
export function decodeNetworkPolicy(object: Field): ClusterEvent | undefined {
  checkKeys(object);
  const { value, clean } = object.attempt(NOT_APPLIED, readIdentity);
  const { name, namespace } = value;
  if (!clean || name === undefined || namespace === undefined) return undefined;
  const id = `NetworkPolicy ${namespace}/${name}` as const;
  const spec = object.get('spec');
  const pods = readSubjectSelector(spec.get('podSelector'), SUBJECT_ISOLATED);
  const subject: PodSelector = { namespaces: { kind: 'name', name: namespace }, pods }; // N3
  const policy: Policy = {
    id,
    kind: 'NetworkPolicy',
    name: `${namespace}/${name}`,
    order: 0,
    subject,
    tier: 'networkpolicy',
    ...readEnforcement(object),
  };
  return { type: 'policy', key: id, value: withinBudget(policy, spec, namespace) };
}

/** The event for a NetworkPolicy of which only the name can be read: it may select any pod of its namespace. */
export function unreadNetworkPolicy(object: Field): ClusterEvent | undefined {
  const [name, namespace] = [readName(object), readNamespace(object)];
  if (name === undefined || namespace === undefined) return undefined;
  const id = `NetworkPolicy ${namespace}/${name}` as const;
  const policy: Policy = {
    id,
    kind: 'NetworkPolicy',
    name: `${namespace}/${name}`,
    order: 0,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: { requirements: [], unreadable: true } },
    tier: 'networkpolicy',
    ingress: [],
    egress: [],
  };
  return { type: 'policy', key: id, value: policy };
}

/** The policy with its rules, or without any where they are more than a policy may have: then it only isolates. */
function withinBudget(policy: Policy, spec: Field, namespace: string): Policy {
  const types = readPolicyTypes(spec);
  const tooLarge = sizeProblem(spec, BUDGET.namespaced);
  const whole = { ...policy, ...(tooLarge === undefined && readDirections(spec, types, namespace)) };
  const excess = tooLarge ?? excessOf(whole);
  if (excess === undefined) return whole;
  spec.withEffect(TOO_LARGE).error(excess);
  return { ...policy, closed: 'policy too large', ...directionsOf(types, [], []) };
}

/** Rules are read, and their problems reported, in both directions. */
function readDirections(spec: Field, types: readonly PolicyType[], namespace: string) {
  const ingress = readRules(spec.get('ingress'), 'ingress', namespace);
  const egress = readRules(spec.get('egress'), 'egress', namespace);
  if (ingress.length > 0 && !types.includes('Ingress')) warnOfUnread(spec, 'ingress', 'Ingress');
  if (egress.length > 0 && !types.includes('Egress')) warnOfUnread(spec, 'egress', 'Egress');
  return directionsOf(types, ingress, egress);
}

/** N6: what the policy says of this direction is not in force, although its author wrote it down. */
function warnOfUnread(spec: Field, direction: Direction, type: PolicyType): void {
  spec
    .get(direction)
    .warning(
      `is never read, because policyTypes leaves out ${type}`,
      `the policy leaves ${direction} of its pods open: add ${type} to policyTypes, and what these rules do not allow is denied; or remove them`,
      { code: 'unread-rules' },
    );
}

/** The directions of the policy; rules of other directions are dropped (N6). */
function directionsOf(
  types: readonly PolicyType[],
  ingress: readonly Rule[],
  egress: readonly Rule[],
): Partial<Record<Direction, readonly Rule[]>> {
  return { ...(types.includes('Ingress') && { ingress }), ...(types.includes('Egress') && { egress }) };
}

/**
 * Without a spec, the policy selects every pod of the namespace (N5): the API server accepts such a policy, and stores
 * it with an empty spec.
 */
function readIdentity(object: Field) {
  const [name, namespace] = [readName(object), readNamespace(object)];
  const spec = object.get('spec');
  if (spec.isPresent) spec.requireMap();
  else spec.warning('is missing', 'the policy isolates every pod of its namespace for ingress');
  return { name, namespace };
}

const POLICY_TYPES = ['Ingress', 'Egress'] as const;
type PolicyType = (typeof POLICY_TYPES)[number];

/** N4, N7. An unknown key beside the rules may concern either direction, so it closes both, like a bad type. */
function readPolicyTypes(spec: Field): readonly PolicyType[] {
  const { value, clean } = spec.attempt(BOTH_ISOLATED, field => {
    if (field.isPresent) field.expectMap(['podSelector', 'policyTypes', 'ingress', 'egress']);
    return readTypeWords(field.get('policyTypes'));
  });
  if (!clean) return POLICY_TYPES;
  return value.length > 0 ? value : defaultTypes(spec.get('egress'));
}

function readTypeWords(types: Field): readonly PolicyType[] {
  const items = types.items();
  if (items.length > 2) types.error('must have two entries at most');
  return items.map(item => {
    if (!item.isPresent) item.error('is missing');
    return item.oneOf(POLICY_TYPES) ?? 'Ingress';
  });
}

/** N4: egress is included if the policy has egress rules, and also if it cannot be read whether it has. */
function defaultTypes(egress: Field): readonly PolicyType[] {
  const isEmpty = !egress.isPresent || (Array.isArray(egress.value) && egress.value.length === 0);
  return isEmpty ? ['Ingress'] : POLICY_TYPES;
}

function readRules(rules: Field, direction: Direction, namespace: string): readonly Rule[] {
  return rules
    .withEffect(DIRECTION_CLOSED)
    .items()
    .map((rule, index) => failClosed(readRule(rule, direction, index, namespace), 'networkpolicy'));
}

function readRule(field: Field, direction: Direction, index: number, namespace: string): DecodedRule {
  const peersKey = direction === 'ingress' ? 'from' : 'to';
  const { clean } = field.attempt(RULE_CLOSED, rule => rule.expectMap([peersKey, 'ports']));
  const rule = { path: `${direction}[${index}]`, action: 'accept' } as const;
  const peers = readEntries(field.get(peersKey), PEER_CLOSED, peer => readPeer(peer, namespace));
  const ports = readEntries(field.get('ports'), PORT_CLOSED, readPort);
  return clean ? { ...rule, peers, ports } : { ...rule, peers: UNKNOWN, ports: UNKNOWN };
}

/** N10, N11: a list that is missing or empty is no constraint; one that is not a list is unknown. */
function readEntries<T>(
  list: Field,
  effect: string,
  read: (field: Field) => T,
): 'any' | Unknown | readonly (T | Unknown)[] {
  const items = list.part(RULE_CLOSED, field => field.items());
  if ('kind' in items) return items;
  return items.length === 0 ? 'any' : items.map(item => item.part(effect, read));
}

function readPeer(peer: Field, namespace: string): Peer {
  // Other problems are reported too, unless the peer is not a map at all.
  const isClean = peer.expectMap(['podSelector', 'namespaceSelector', 'ipBlock']);
  if (!isClean && Object.keys(asMap(peer.value)).length === 0) return UNREADABLE_PEER;
  const [pods, namespaces] = [peer.get('podSelector'), peer.get('namespaceSelector')];
  const block = peer.get('ipBlock');
  if (block.isPresent && (pods.isPresent || namespaces.isPresent))
    block.error('is set beside a selector, and a peer is one or the other'); // N18
  if (block.isPresent) return readIpBlock(block);
  if (isClean && !pods.isPresent && !namespaces.isPresent) peer.error('names no peer'); // N17
  return { kind: 'pods', selector: readPeerSelector(pods, namespaces, namespace) };
}

/** N13 to N16. */
function readPeerSelector(pods: Field, namespaces: Field, namespace: string): PodSelector {
  return {
    namespaces: namespaces.isPresent
      ? { kind: 'labels', selector: readLabelSelector(namespaces) }
      : { kind: 'name', name: namespace },
    pods: readLabelSelector(pods),
  };
}

function readIpBlock(block: Field): Peer {
  block.expectMap(['cidr', 'except']);
  const cidr = block.get('cidr').parsed('a network', parseCidr);
  const except = block
    .get('except')
    .items()
    .map(field => readExcept(field, cidr));
  if (cidr === undefined) return UNREADABLE_PEER;
  return { kind: 'network', cidr, except: except.filter(network => network !== undefined) };
}

/** Placeholder for a peer whose problem is reported; `part` replaces it with unknown. */
const UNREADABLE_PEER: Peer = {
  kind: 'pods',
  selector: { namespaces: EVERY_NAMESPACE, pods: { requirements: [] } },
};

/** N21: within the network, and smaller than it. */
function readExcept(field: Field, cidr: Cidr | undefined): Cidr | undefined {
  const except = field.parsed('a network', parseCidr);
  if (cidr === undefined || except === undefined) return except;
  if (except.prefix <= cidr.prefix || !cidrContains(cidr, except.base))
    field.error(`${describe(field.value)} is not a part of the network that it is taken from`);
  return except;
}

function readPort(field: Field): PortMatch {
  field.expectMap(['protocol', 'port', 'endPort']);
  const protocol = field.get('protocol').oneOf(PROTOCOLS) ?? 'TCP'; // N25
  const [port, endPort] = [field.get('port'), field.get('endPort')];
  if (endPort.isPresent && typeof port.value !== 'number')
    endPort.error('needs a port that is a number beside it');
  if (!port.isPresent) return { kind: 'protocol', protocol }; // N26
  if (typeof port.value === 'string') return { kind: 'named', name: readPortName(port), protocol };
  const first = port.integer(1, 65535) ?? 0;
  return { kind: 'range', protocol, first, last: readEndPort(endPort, first) };
}

function readPortName(port: Field): string {
  const name = port.text() ?? '';
  if (/^\d+$/.test(name)) port.error(`${describe(name)} is text; write a port number without quotes`);
  else if (!isPortName(name)) port.error(`${describe(name)} is not the name of a port`);
  return name;
}

/** N27. */
function readEndPort(endPort: Field, first: number): number {
  const last = endPort.integer(1, 65535) ?? first;
  if (last < first) endPort.error(`${last} is less than the port ${first}`);
  return last;
}
