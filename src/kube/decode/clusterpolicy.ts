/** What the three cluster-wide kinds share: subject, rules, peers. Each kind's file says how its dialect differs. */
import type { ClusterEvent } from '../../model/cluster.ts';
import { failClosed } from '../../model/failclosed.ts';
import type { Action, Direction, Peer, PolicyKind, PortMatch, Rule, Tier } from '../../model/policy.ts';
import { EVERYTHING, type PodSelector } from '../../model/selector.ts';
import { type EgressPeerKey, type PeerKey, readPeer } from './clusterpeer.ts';
import { type Field, UNKNOWN } from './fields.ts';
import { readLabelSelector } from './labelselector.ts';
import { checkKeys, readName } from './metadata.ts';
import { readNamespacedPods } from './namespacedpods.ts';

export interface Dialect {
  readonly kind: Exclude<PolicyKind, 'NetworkPolicy'>;
  /** The keys of `spec` besides subject, ingress and egress. */
  readonly specKeys: readonly string[];
  readonly readPlace: (spec: Field) => { readonly tier: Tier; readonly order: number };
  readonly actions: Readonly<Record<string, Action>>;
  readonly egressPeers: readonly EgressPeerKey[];
  readonly portsKey: 'protocols' | 'ports';
  readonly readPort: (port: Field) => PortMatch;
  readonly needsNamespaceSelector: boolean;
  /** C44: how many rules, peers and ports the API server takes. */
  readonly most: number;
}

const RULES_FAIL_CLOSED =
  'until it is fixed, rules that accept match nothing, and rules that deny or pass deny everything';
const NOT_APPLIED = 'the policy is not applied; if it was good before, its last good version stays in force';

/** A policy whose subject, tier or priority nobody can read has no place in the order: it is not applied (C17). */
export function decodeClusterPolicy(object: Field, dialect: Dialect): ClusterEvent | undefined {
  const { kind } = dialect;
  checkKeys(object);
  const { value, clean } = object.attempt(NOT_APPLIED, field => readFrame(field, dialect));
  const { name, subject, tier, order } = value;
  if (!clean || name === undefined || subject === undefined) return undefined;
  const id = `${kind} ${name}` as const;
  const spec = object.get('spec');
  const isKnown = hasKnownKeys(spec, dialect);
  const directions = {
    ...readDirection(spec, 'ingress', tier, isKnown, dialect),
    ...readDirection(spec, 'egress', tier, isKnown, dialect),
  };
  return { type: 'policy', key: id, value: { id, kind, name, tier, order, subject, ...directions } };
}

function readFrame(object: Field, dialect: Dialect) {
  const spec = object.get('spec');
  spec.requireMap();
  // A list that is none may have held anything.
  for (const direction of ['ingress', 'egress']) spec.get(direction).items();
  const subject = readSubject(spec.get('subject'), dialect);
  return { name: readName(object), subject, ...dialect.readPlace(spec) };
}

/** C51: an unknown key may have narrowed what the rules say, so none of them is taken at its word. */
function hasKnownKeys(spec: Field, { specKeys }: Dialect): boolean {
  const keys = [...specKeys, 'subject', 'ingress', 'egress'];
  return spec.attempt(RULES_FAIL_CLOSED, field => field.expectMap(keys)).clean;
}

function readSubject(subject: Field, dialect: Dialect): PodSelector | undefined {
  const key = subject.onlyKey(['namespaces', 'pods']);
  if (key === undefined) return undefined;
  if (key === 'pods') return readNamespacedPods(subject.get(key), dialect.needsNamespaceSelector);
  return { namespaces: { kind: 'labels', selector: readLabelSelector(subject.get(key)) }, pods: EVERYTHING };
}

/** C10: without a rule, a policy has no say in the direction. */
function readDirection(
  spec: Field,
  direction: Direction,
  tier: Tier,
  isKnown: boolean,
  dialect: Dialect,
): Partial<Record<Direction, readonly Rule[]>> {
  const rules = spec.get(direction);
  const items = rules.items();
  warnAboutCount(rules, items.length, dialect.most);
  const decoded = items.map((rule, index) =>
    readRule(rule, `${direction}[${index}]`, direction, tier, isKnown, dialect),
  );
  return decoded.length > 0 ? { [direction]: decoded } : {};
}

/** C22, C23. */
const ACCEPTS_NOTHING = 'the rule matches nothing until it is fixed';
const DENIES_ALL = 'the rule denies everything until it is fixed';

function readRule(
  field: Field,
  path: string,
  direction: Direction,
  tier: Tier,
  isKnown: boolean,
  dialect: Dialect,
): Rule {
  const action = field.get('action').part(DENIES_ALL, value => readAction(value, dialect));
  const effect = action === 'accept' ? ACCEPTS_NOTHING : DENIES_ALL;
  const parts = field.part(effect, rule => readParts(rule, direction, action, dialect));
  const known = 'kind' in parts || !isKnown ? { peers: UNKNOWN, ports: UNKNOWN } : parts;
  return failClosed({ path, action, ...known }, tier);
}

function readAction(action: Field, { actions }: Dialect): Action {
  if (!action.isPresent) action.error('is missing');
  return actions[action.oneOf(Object.keys(actions)) ?? ''] ?? 'deny';
}

function readParts(rule: Field, direction: Direction, action: Action | typeof UNKNOWN, dialect: Dialect) {
  const peersKey = direction === 'ingress' ? 'from' : 'to';
  rule.expectMap(['name', 'action', peersKey, dialect.portsKey]);
  const keys: readonly PeerKey[] = direction === 'ingress' ? ['namespaces', 'pods'] : dialect.egressPeers;
  const peers = readPeers(rule.get(peersKey), keys, action === 'accept', dialect);
  const ports = readPorts(rule.get(dialect.portsKey), dialect);
  warnAboutNamedPorts(rule.get(dialect.portsKey), peers, ports);
  return { ...readRuleName(rule.get('name')), peers, ports };
}

function readRuleName(name: Field): { readonly name?: string } {
  const text = name.text() ?? '';
  if (text.length > 100)
    name.warning('has more than 100 characters', 'the API server would not take the policy');
  return text === '' ? {} : { name: text };
}

/** C20: no peer at all is never every peer. */
function readPeers(list: Field, keys: readonly PeerKey[], isAccept: boolean, dialect: Dialect) {
  const items = list.items();
  if (items.length === 0) list.error('must name at least one peer');
  warnAboutCount(list, items.length, dialect.most);
  return items.flatMap(peer => readPeer(peer, keys, isAccept, dialect.needsNamespaceSelector));
}

/** C21. */
function readPorts(list: Field, dialect: Dialect): 'any' | readonly PortMatch[] {
  const items = list.items();
  if (items.length === 0 && list.isPresent)
    list.warning('is empty, which the API server does not take', 'it is read as if it were not there');
  warnAboutCount(list, items.length, dialect.most);
  return items.length === 0 ? 'any' : items.map(dialect.readPort);
}

/** C44: a limit of the API server, not a matter of what the policy means. */
function warnAboutCount(list: Field, count: number, most: number): void {
  if (count > most)
    list.warning(`has ${count} entries, and the API server takes ${most}`, 'all of them count');
}

/** C29: only pods have named ports. */
function warnAboutNamedPorts(list: Field, peers: readonly Peer[], ports: 'any' | readonly PortMatch[]): void {
  if (ports === 'any' || !ports.some(({ kind }) => kind === 'named')) return;
  if (peers.some(({ kind }) => kind !== 'pods'))
    list.warning('has a named port beside peers that have none', 'the port matches pods only');
}
