/** Warnings about rules and policies that others decide before them, or that say nothing new. */
import { type Address, type Cidr, cidrContains } from '../../model/address.ts';
import { type Cluster, internalIpsOf, namespaceOf } from '../../model/cluster.ts';
import type { Direction, Peer, Policy, PortMatch, Rule } from '../../model/policy.ts';
import { mergePorts, type NumberedPort } from '../../model/ports.ts';
import type { Problem } from '../../model/problem.ts';
import {
  type LabelSelector,
  matchNamespace,
  type PodSelector,
  type Requirement,
} from '../../model/selector.ts';
import { directedRules, type Facts, MOST_OF_POLICY, warning } from './facts.ts';

/** C12, 4.19. */
export function equalPriority({ policies }: Facts): readonly Problem[] {
  const firsts = new Map<string, Policy>();
  return policies.flatMap(policy => {
    const { tier, order, id } = policy;
    if (tier === 'networkpolicy') return [];
    const first = firsts.get(`${tier} ${order}`);
    if (first === undefined) {
      firsts.set(`${tier} ${order}`, policy);
      return [];
    }
    const message = `${order} in the ${tier} tier is that of ${first.id} too`;
    const effect = `${first.id} goes first, by kind and name`;
    return [warning('equal-priority', id, 'spec.priority', message, effect)];
  });
}

/** Comparing each rule with each, and their peers, takes long where there are many. */
const MOST_COMPARED = 100;
const MOST_PAIRS = 400;

/** A rule that matches nothing that another one does not match, which is of the same policy or of a stronger one. */
export function coveredRule(policy: Policy, { cluster, admin }: Facts): readonly Problem[] {
  const found: Problem[] = [];
  const denials = policy.tier === 'networkpolicy' ? denialsBefore(policy, admin, cluster) : [];
  for (const [direction, rule] of directedRules(policy)) {
    if (found.length === MOST_OF_POLICY) return found;
    const others = (policy[direction] ?? []).slice(0, MOST_COMPARED);
    const other = others.find(each => each !== rule && isFirst(cluster, policy, each, rule, others));
    if (other !== undefined) found.push(covered(policy, rule, other));
    const denial = denials.find(each => each.direction === direction && covers(cluster, each.rule, rule));
    if (denial !== undefined) found.push(overruled(policy, rule, denial));
  }
  return found;
}

/** Whether the other one covers the rule, and counts: the first where both mean the same, and in a tier the earlier. */
function isFirst(cluster: Cluster, { tier }: Policy, other: Rule, rule: Rule, all: readonly Rule[]): boolean {
  if (!covers(cluster, other, rule)) return false;
  if (all.indexOf(other) < all.indexOf(rule)) return true;
  return tier === 'networkpolicy' && !covers(cluster, rule, other);
}

function covered({ id }: Policy, rule: Rule, other: Rule): Problem {
  const isSame = rule.action === other.action;
  const message = `matches nothing that spec.${other.path} does not match too`;
  const effect = isSame
    ? 'it can be removed'
    : `the rule never decides: spec.${other.path} comes first and has the action ${ACTION[other.action]}`;
  return warning('covered-rule', id, `spec.${rule.path}`, message, effect);
}

const ACTION = { accept: 'Accept', deny: 'Deny', pass: 'Pass' } as const;

interface Denial {
  readonly policy: Policy;
  readonly direction: Direction;
  readonly rule: Rule;
}

/** Rules of the Admin tier that deny all that this policy selects; none behind a rule that passes something on. */
function denialsBefore(policy: Policy, admin: readonly Policy[], cluster: Cluster): Denial[] {
  const found: Denial[] = [];
  const passed = new Set<Direction>();
  for (const stronger of admin) {
    const isOver = coversSelector(cluster, stronger.subject, policy.subject);
    for (const [direction, rule] of directedRules(stronger)) {
      if (rule.action === 'pass') passed.add(direction);
      if (rule.action === 'deny' && isOver && !passed.has(direction))
        found.push({ policy: stronger, direction, rule });
    }
  }
  return found;
}

function overruled({ id }: Policy, rule: Rule, denial: Denial): Problem {
  const message = `matches nothing that ${denial.policy.id} does not match in spec.${denial.rule.path}`;
  const effect = 'the rule allows nothing: that one denies it before';
  return warning('covered-rule', id, `spec.${rule.path}`, message, effect);
}

// Whether everything that one matches the other matches too, as far as what they say tells.

function covers(cluster: Cluster, wide: Rule, narrow: Rule): boolean {
  return coversPorts(wide.ports, narrow.ports) && coversPeers(cluster, wide, narrow);
}

/** A rule without any peer could not be read, and is reported as that. */
function coversPeers(
  cluster: Cluster,
  { peers: wide, action }: Rule,
  { peers: narrow, ...rule }: Rule,
): boolean {
  if (narrow === 'any' || narrow.length === 0) return wide === 'any' && narrow === 'any';
  if (wide === 'any') return true;
  if (wide.length * narrow.length > MOST_PAIRS) return false;
  // C59: a denial of a node holds at all of its addresses, and an allowance at those that are written.
  const isWider = action === 'accept' && rule.action !== 'accept';
  if (isWider && narrow.some(peer => meansNode(cluster, peer))) return false;
  return narrow.every(peer => wide.some(each => coversPeer(cluster, each, peer)));
}

/** As far as nodes are known, which a repository has none of. */
function meansNode({ nodes }: Cluster, peer: Peer): boolean {
  if (peer.kind !== 'network') return peer.kind === 'nodes';
  const isIn = (address: Address) => cidrContains(peer.cidr, address);
  return [...nodes.values()].some(node => internalIpsOf(node).some(isIn));
}

function coversPeer(cluster: Cluster, wide: Peer, narrow: Peer): boolean {
  if (wide.kind === 'pods' && narrow.kind === 'pods')
    return coversSelector(cluster, wide.selector, narrow.selector);
  if (wide.kind === 'nodes' && narrow.kind === 'nodes') return coversLabels(wide.selector, narrow.selector);
  if (wide.kind === 'domain' && narrow.kind === 'domain') return wide.name === narrow.name;
  if (wide.kind !== 'network' || narrow.kind !== 'network') return false;
  const isApart = (hole: Cidr) =>
    !cidrContains(hole, narrow.cidr.base) && !cidrContains(narrow.cidr, hole.base);
  const isLeftOut = (hole: Cidr) => narrow.except.some(each => coversNetwork(each, hole));
  return coversNetwork(wide.cidr, narrow.cidr) && wide.except.every(hole => isApart(hole) || isLeftOut(hole));
}

function coversNetwork(wide: Cidr, narrow: Cidr): boolean {
  return wide.prefix <= narrow.prefix && cidrContains(wide, narrow.base);
}

function coversSelector(cluster: Cluster, wide: PodSelector, narrow: PodSelector): boolean {
  return coversNamespaces(cluster, wide, narrow) && coversLabels(wide.pods, narrow.pods);
}

function coversNamespaces(cluster: Cluster, wide: PodSelector, narrow: PodSelector): boolean {
  const [all, some] = [wide.namespaces, narrow.namespaces];
  if (some.kind === 'name') return matchNamespace(all, some.name, namespaceOf(cluster, some.name)) === 'yes';
  return all.kind === 'labels' && coversLabels(all.selector, some.selector);
}

function coversLabels(wide: LabelSelector, narrow: LabelSelector): boolean {
  return wide.requirements.every(each => narrow.requirements.some(other => follows(each, other)));
}

/** Whether the one requirement holds wherever the other holds. */
function follows(one: Requirement, other: Requirement): boolean {
  if (one.key !== other.key) return false;
  const has = (value: string) => one.values.includes(value);
  switch (one.operator) {
    case 'In':
      return other.operator === 'In' && other.values.every(has);
    case 'Exists':
      return other.operator === 'In' || other.operator === 'Exists';
    case 'DoesNotExist':
      return other.operator === 'DoesNotExist';
    case 'NotIn':
      if (other.operator === 'In') return !other.values.some(has);
      if (other.operator === 'NotIn') return one.values.every(value => other.values.includes(value));
      return other.operator === 'DoesNotExist'; // N56
  }
}

function coversPorts(wide: Rule['ports'], narrow: Rule['ports']): boolean {
  if (narrow === 'any' || narrow.length === 0) return wide === 'any' && narrow === 'any';
  if (wide === 'any') return true;
  const { protocols, ranges } = mergePorts(
    wide.filter((port): port is NumberedPort => port.kind !== 'named'),
  );
  return narrow.every(port => {
    if (port.protocol !== undefined && protocols.includes(port.protocol)) return true;
    if (port.kind === 'named') return wide.some(each => isSameName(each, port));
    return (
      port.kind === 'range' &&
      ranges.some(
        ({ protocol, first, last }) => protocol === port.protocol && first <= port.first && port.last <= last,
      )
    );
  });
}

function isSameName(wide: PortMatch, { name, protocol }: PortMatch & { kind: 'named' }): boolean {
  return wide.kind === 'named' && wide.name === name && (wide.protocol ?? protocol) === protocol;
}
