/**
 * The parts that the three cluster-wide kinds share: subject, rules, peers. The file of each kind has its differences.
 */
import { BUDGET, excessOf } from '../../../model/budget.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import { effectIfUncertain, failClosed } from '../../../model/failclosed.ts';
import type {
  Action,
  Direction,
  Peer,
  Policy,
  PolicyKind,
  PortMatch,
  Rule,
  Tier,
} from '../../../model/policy.ts';
import { EVERY_NAMESPACE, EVERYTHING, type PodSelector } from '../../../model/selector.ts';
import { type EgressPeerKey, type PeerKey, readPeer, readSubjectPods } from './clusterpeer.ts';
import { type Field, sizeProblem, UNKNOWN } from './fields.ts';
import { readSubjectSelector } from './labelselector.ts';
import { checkKeys, readEnforcement, readName } from './metadata.ts';

export interface Dialect {
  readonly kind: Exclude<PolicyKind, 'NetworkPolicy'>;
  /** The keys of `spec` besides subject, ingress and egress. */
  readonly specKeys: readonly string[];
  readonly readTier: (spec: Field) => Tier;
  readonly readOrder: (spec: Field) => number;
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
const TOO_LARGE =
  'until it is smaller, rules that accept match nothing, and rules that deny or pass deny everything';
const NOT_APPLIED = 'the policy is not applied; if it was good before, its last good version stays in force';

const UNSURE_SUBJECT =
  'until it is fixed, the policy concerns every pod that the rest of its subject selects: what it accepts matches nothing, and what it denies or passes is denied';
const FIRST =
  'until it is fixed, the policy comes first: what it accepts matches nothing, and what it denies or passes is denied';

/**
 * The denying rules of a policy that is only partly readable stay in force wherever they may apply: the rules depend on
 * the object as it is, and not on whether this agent has seen an earlier version (docs/decisions/0013, N68).
 */
export function decodeClusterPolicy(object: Field, dialect: Dialect): ClusterEvent | undefined {
  const { kind } = dialect;
  checkKeys(object);
  const { value: name, clean } = object.attempt(NOT_APPLIED, readFrame);
  if (!clean || name === undefined) return undefined;
  const id = `${kind} ${name}` as const;
  const spec = object.get('spec');
  const { isSure, ...place } = readPlace(spec, dialect);
  const subject = readSubject(spec.get('subject'), dialect);
  const frame = { id, kind, name, ...place, subject, ...readEnforcement(object) };
  const policy = withinBudget(frame, spec, dialect);
  return { type: 'policy', key: id, value: isSure ? policy : effectIfUncertain(policy) };
}

/** The policy with its rules; if it has more than it may have, its rules are closed. */
function withinBudget(policy: Policy, spec: Field, dialect: Dialect): Policy {
  const { tier } = policy;
  const isKnown = hasKnownKeys(spec, dialect);
  const tooLarge = sizeProblem(spec, BUDGET.cluster);
  const whole = {
    ...policy,
    ...(tooLarge === undefined &&
      readDirections(
        spec,
        (rule, path, direction) => readRule(rule, path, direction, tier, isKnown, dialect),
        dialect,
      )),
  };
  const excess = tooLarge ?? excessOf(whole);
  if (excess === undefined) return whole;
  spec.withEffect(TOO_LARGE).error(excess);
  return {
    ...policy,
    ...readDirections(spec, (rule, path) => closedRule(rule, path, tier, dialect), dialect),
  };
}

/** A policy without a name or a spec is left out, because nothing says which pods it could select. */
function readFrame(object: Field): string | undefined {
  object.get('spec').requireMap();
  return readName(object);
}

/**
 * A policy whose tier or priority cannot be read comes before all others, so that no other can allow what it denies.
 */
function readPlace(spec: Field, { readTier, readOrder }: Dialect) {
  const tier = spec.attempt(FIRST, readTier);
  const order = spec.attempt(FIRST, readOrder);
  const isSure = tier.clean && order.clean;
  return {
    tier: tier.clean ? tier.value : ('admin' as const),
    order: isSure ? order.value : BEFORE_ALL,
    isSure,
  };
}

/** C11: priorities begin with 0. */
const BEFORE_ALL = -1;

/** C51: an unknown key may have narrowed the rules, so all of them are closed. */
function hasKnownKeys(spec: Field, { specKeys }: Dialect): boolean {
  const keys = [...specKeys, 'subject', 'ingress', 'egress'];
  return spec.attempt(RULES_FAIL_CLOSED, field => field.expectMap(keys)).clean;
}

function readSubject(subject: Field, { needsNamespaceSelector }: Dialect): PodSelector {
  const { value: key, clean } = subject.attempt(UNSURE_SUBJECT, field =>
    field.onlyKey(['namespaces', 'pods']),
  );
  if (key === undefined || !clean)
    return { namespaces: EVERY_NAMESPACE, pods: { requirements: [], unreadable: true } };
  if (key === 'pods') return readSubjectPods(subject.get(key), needsNamespaceSelector, UNSURE_SUBJECT);
  const selector = readSubjectSelector(subject.get(key), UNSURE_SUBJECT);
  return { namespaces: { kind: 'labels', selector }, pods: EVERYTHING };
}

type ReadRule = (rule: Field, path: string, direction: Direction) => Rule;

function readDirections(
  spec: Field,
  read: ReadRule,
  dialect: Dialect,
): Partial<Record<Direction, readonly Rule[]>> {
  return {
    ...readDirection(spec, 'ingress', read, dialect),
    ...readDirection(spec, 'egress', read, dialect),
  };
}

/** C10: a policy without rules in a direction does not apply to it. */
function readDirection(
  spec: Field,
  direction: Direction,
  read: ReadRule,
  dialect: Dialect,
): Partial<Record<Direction, readonly Rule[]>> {
  const rules = spec.get(direction);
  const { value: items, clean } = rules.attempt(DIRECTION_DENIED, field => field.items());
  // A list that is none may have held anything.
  if (!clean) return { [direction]: [{ path: direction, action: 'deny', peers: 'any', ports: 'any' }] };
  warnAboutCount(rules, items.length, dialect.most);
  const decoded = items.map((rule, index) => read(rule, `${direction}[${index}]`, direction));
  return decoded.length > 0 ? { [direction]: decoded } : {};
}

const DIRECTION_DENIED = 'the policy denies everything in this direction until it is fixed';
/** Replaces a rule whose peers and ports cannot be read: an accept matches nothing, any other action denies. */
function closedRule(rule: Field, path: string, tier: Tier, { actions }: Dialect): Rule {
  const written = rule.get('action').value;
  const action = Object.entries(actions).find(([word]) => word === written)?.[1] ?? 'deny';
  return failClosed({ path, action, peers: UNKNOWN, ports: UNKNOWN }, tier);
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

/** C44: a limit of the API server, which does not change the meaning of the policy. */
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

/** C27: the cluster kinds name a port without a protocol. A name that no container has matches nothing (C28). */
export function readNamedPort(field: Field): PortMatch {
  const name = field.text() ?? '';
  if (name === '') field.error('must not be empty');
  return { kind: 'named', name };
}

/** C11: a lower number takes precedence; 0 and 1000 are valid. */
export function readPriority(spec: Field): number {
  return spec.get('priority').requiredInteger(0, 1000) ?? 0;
}
