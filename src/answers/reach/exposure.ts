/** Pods that do not exist yet: which of them could reach workloads, and be reached by them. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import { FAMILIES } from '../../model/address.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, type Namespace } from '../../model/cluster.ts';
import type { LabelSelector, Labels, Requirement } from '../../model/labels.ts';
import { type Direction, type Policy, rulesOf } from '../../model/policy.ts';
import {
  EVERY_NAMESPACE,
  EVERYTHING,
  matchPod,
  type NamespaceSelector,
  type PodSelector,
} from '../../model/selector.ts';
import type { ImaginedPod } from './clusterindex.ts';
import { type Cell, cellOf, type Ends, type Member, type ReachPlace } from './places.ts';
import type { Reach } from './reach.ts';

export interface Exposure {
  /** `ingress`: the members are open to those pods. `egress`: they may reach them. */
  readonly direction: Direction;
  readonly members: readonly Member[];
  /** Pods that are not there. */
  readonly whom: PodSelector;
  readonly cell: Cell;
}

/**
 * The exposure of each representative; the first one stands for all clients without rules of their own. Representatives
 * that reach no more than that one are left out.
 */
export function exposuresOf(
  reach: Reach,
  places: readonly ReachPlace[],
  representatives: readonly (readonly [Representative, ReachPlace])[],
): Exposure[] {
  const found = new Map<string, Exposure & { members: Member[] }>();
  for (const direction of ['ingress', 'egress'] as const)
    for (const { ends, members } of places) {
      const cells = representatives.map(([, other]) => cellOfDirection(reach, direction, ends, other.ends));
      for (const [i, cell] of cells.entries()) {
        if (i === 0 ? isNone(reach, cell) : isWithin(reach, cell, cells[0]!)) continue;
        const key = `${direction}/${i}/${cell.ip?.id}/${cell.ip6?.id}`;
        const whom = representatives[i]![0].selector;
        getOrMake(found, key, () => ({ direction, members: [], whom, cell })).members.push(...members);
      }
    }
  return [...found.values()];
}

export function isAnybody(selector: PodSelector): boolean {
  return selector === ANYBODY;
}

function cellOfDirection(reach: Reach, direction: Direction, own: Ends, other: Ends): Cell {
  return direction === 'ingress' ? cellOf(reach, other, own) : cellOf(reach, own, other);
}

function isNone({ pool }: Reach, cell: Cell): boolean {
  return FAMILIES.every(family => cell[family] === undefined || cell[family] === pool.none);
}

function isWithin({ pool }: Reach, cell: Cell, wider: Cell): boolean {
  return FAMILIES.every(family => {
    const connections = cell[family];
    return connections === undefined || pool.minus(connections, wider[family] ?? pool.none) === pool.none;
  });
}

/**
 * Pods that do not exist yet: for each selector of a rule's peer that selects no pod of the cluster, one with just
 * the labels that it asks for, in a namespace with just the labels that it asks for.
 */
export interface Representative extends ImaginedPod {
  /** The selector whose pods it represents. */
  readonly selector: PodSelector;
}

/** A pod of which no policy knows a label, in a namespace of which none does. */
const ANYBODY: PodSelector = { namespaces: EVERY_NAMESPACE, pods: EVERYTHING };

/** `isPresent` says whether a selector selects an existing pod. */
export function representativesOf(
  cluster: Cluster,
  isPresent: (selector: PodSelector) => boolean,
): Representative[] {
  const selectors = new Map(peerSelectors(cluster.policies.values()).map(each => [contentText(each), each]));
  selectors.delete(contentText(ANYBODY));
  const missing = [...selectors.values()].filter(selector => !isPresent(selector));
  return [ANYBODY, ...missing].flatMap(selector => {
    const namespace = namespaceFor(cluster, selector.namespaces);
    const labels = labelsFor(selector.pods);
    if (namespace === undefined || labels === undefined) return [];
    const pod = { namespace: namespace.name, labels };
    if (matchPod(selector, pod, namespace) !== 'yes') return [];
    return [{ selector, namespace, labels, ports: [] }];
  });
}

function peerSelectors(policies: Iterable<Policy>): PodSelector[] {
  return [...policies].flatMap(policy =>
    rulesOf(policy).flatMap(({ peers }) =>
      peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : [])),
    ),
  );
}

/** The namespace of that name as it is, else one that is made for this; undefined where there can be none. */
function namespaceFor({ namespaces }: Cluster, selector: NamespaceSelector): Namespace | undefined {
  const labels = selector.kind === 'name' ? {} : labelsFor(selector.selector);
  if (labels === undefined) return undefined;
  const name = selector.kind === 'name' ? selector.name : labels[NAMESPACE_NAME_LABEL];
  if (name === undefined) return { name: '', labels };
  const own = { ...labels, [NAMESPACE_NAME_LABEL]: name };
  return namespaces.get(name) ?? { name, labels: own };
}

/** The fewest labels that fulfil all requirements; undefined where none do. */
function labelsFor({ requirements }: LabelSelector): Labels | undefined {
  const keys = new Set(requirements.map(({ key }) => key));
  const labels: Record<string, string> = {};
  for (const key of keys) {
    const value = valueFor(requirements.filter(requirement => requirement.key === key));
    if (value === IMPOSSIBLE) return undefined;
    if (value !== ABSENT) labels[key] = value;
  }
  return labels;
}

const ABSENT = Symbol('absent');
const IMPOSSIBLE = Symbol('impossible');

/** A label value that meets all requirements; they are on one key. */
function valueFor(requirements: readonly Requirement[]): string | typeof ABSENT | typeof IMPOSSIBLE {
  const of = (operator: Requirement['operator']) =>
    requirements.filter(requirement => requirement.operator === operator);
  const denied = new Set(of('NotIn').flatMap(({ values }) => values));
  const [first, ...others] = of('In');
  const isForbidden = of('DoesNotExist').length > 0;
  if (first === undefined && of('Exists').length === 0) return ABSENT;
  if (isForbidden) return IMPOSSIBLE;
  if (first === undefined) return freshValue(denied);
  const allowed = first.values.filter(
    value => !denied.has(value) && others.every(({ values }) => values.includes(value)),
  );
  return allowed[0] ?? IMPOSSIBLE;
}

/** One that is not denied. */
function freshValue(denied: ReadonlySet<string>): string {
  for (let i = 0; ; i++) if (!denied.has(`any${i}`)) return `any${i}`;
}
