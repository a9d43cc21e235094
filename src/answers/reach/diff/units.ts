/**
 * The units that are compared: a pod with itself if both clusters have it, else the pods of a workload with those that
 * it has now, a node with the node of the same name, and each region with the same addresses.
 */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import { once } from '../../../lib/collections/once.ts';
import { pushAll } from '../../../lib/collections/pushall.ts';
import { isSameList } from '../../../lib/collections/samelist.ts';
import type { Family } from '../../../model/address.ts';
import type { Cluster, Namespace } from '../../../model/cluster.ts';
import type { Inventory } from '../../../model/inventory.ts';
import type { Labels } from '../../../model/labels.ts';
import type { UnknownPods } from '../../../model/podcidrs.ts';
import { type Policy, type PolicyId, rulesOf } from '../../../model/policy.ts';
import type { JudgedPeers } from '../cases.ts';
import { portNamesOf } from '../clusterindex.ts';
import { ConnectionPool } from '../connections.ts';
import { placesOfClass, regionGroups, type Teller } from '../domains.ts';
import type { UnknownAddresses } from '../judgement.ts';
import { imaginedOf, type NewPods, newPodsOf, newPodText } from '../newpods.ts';
import {
  type DomainMember,
  type Ends,
  familiesOf,
  imaginedPlaces,
  type Member,
  nodesOfSeveral,
  type ReachPlace,
  reachPlaces,
  type Workloads,
  workloadOfMember,
  workloadsIn,
} from '../places.ts';
import { type Reach, reachOf, reachWith } from '../reach.ts';
import { isPossibleWith, possibleAddresses, withNamespaces } from '../worlds.ts';

export interface Unit {
  /** Ends in each cluster: none where it has no such workload, several where pods of a workload differ. */
  readonly old: readonly Ends[];
  readonly now: readonly Ends[];
  readonly members: readonly UnitMember[];
}

export type UnitMember =
  /** `Deployment shop/web`, `node1`, `node1 (192.0.2.1)` where it has several addresses that policy tells apart. */
  | { readonly kind: 'workload' | 'node'; readonly name: string }
  /** Pods that are not there yet; the index of their kind. */
  | { readonly kind: 'new'; readonly index: number; readonly name: string }
  | { readonly kind: 'network'; readonly regions: Ends }
  | DomainMember;

interface Part {
  readonly member: UnitMember;
  readonly ends: Ends;
}

/** Units of equal ends are one. */
export function unitsOf(old: Side, now: Side): Unit[] {
  const [before, after] = [partsOf(old), partsOf(now)];
  const same = [...before].flatMap(([key, { ends, member }]): Unit[] => {
    const is = after.get(key);
    return is === undefined ? [] : [{ old: [ends], now: [is.ends], members: [member] }];
  });
  return joined([...same, ...changedWorkloads(before, after)]);
}

/** Parts of units, keyed by what is the same in both clusters. */
function partsOf({ places, workloads }: Side): Map<string, Part> {
  const found = new Map<string, Part>();
  const several = nodesOfSeveral(places);
  for (const { ends, members } of places)
    for (const member of members)
      for (let i = 0; ; i++) {
        const key = `${keyOf(member, workloads.imagined)} ${i}`;
        if (found.has(key)) continue;
        found.set(key, { ends, member: unitMember(member, workloadOfMember(workloads, member), several) });
        break;
      }
  return found;
}

function keyOf(member: Member, imagined: Side['workloads']['imagined']): string {
  switch (member.kind) {
    case 'pod':
      return `pod ${member.pod.key}`;
    case 'imagined':
      return `template ${imagined[member.index]!.workload}`;
    case 'node':
      return `node ${member.node.name}`;
    case 'network':
      return `network ${member.regions.ip} ${member.regions.ip6}`;
    case 'domain':
      throw new Error('names are compared by domainUnits');
  }
}

function unitMember(member: Member, workload: string | undefined, several: ReadonlySet<string>): UnitMember {
  if (member.kind === 'network') return { kind: 'network', regions: member.regions };
  if (member.kind === 'node') {
    const { name } = member.node;
    return { kind: 'node', name: several.has(name) ? `${name} (${member.addresses.join(', ')})` : name };
  }
  return { kind: 'workload', name: workload! };
}

/** Pods that only one cluster has: of a workload that both have they count where the other has only others too. */
function changedWorkloads(before: ReadonlyMap<string, Part>, after: ReadonlyMap<string, Part>): Unit[] {
  const [gone, come] = [lonely(before, after), lonely(after, before)];
  const kept = new Set(
    [...before].flatMap(([key, { member }]) => (after.has(key) ? workloadName(member) : [])),
  );
  return [...new Set([...gone.keys(), ...come.keys()])].flatMap(name => {
    const [old, now] = [gone.get(name) ?? [], come.get(name) ?? []];
    const isScaled = kept.has(name) && (old.length === 0 || now.length === 0);
    return isScaled ? [] : [{ old, now, members: [{ kind: 'workload' as const, name }] }];
  });
}

function lonely(parts: ReadonlyMap<string, Part>, others: ReadonlyMap<string, Part>): Map<string, Ends[]> {
  const found = new Map<string, Map<string, Ends>>();
  for (const [key, { member, ends }] of parts)
    for (const name of others.has(key) ? [] : workloadName(member))
      getOrMake(found, name, () => new Map<string, Ends>()).set(endsText(ends), ends);
  return new Map([...found].map(([name, ends]) => [name, [...ends.values()]]));
}

function workloadName(member: UnitMember): string[] {
  return member.kind === 'workload' ? [member.name] : [];
}

function joined(units: readonly Unit[]): Unit[] {
  const found = new Map<string, Unit & { members: UnitMember[] }>();
  for (const { old, now, members } of units) {
    const key = `${members[0]!.kind} ${old.map(endsText)} ${now.map(endsText)}`;
    const own = getOrMake(found, key, () => ({ old, now, members: [] })).members;
    pushAll(own, members);
  }
  return [...found.values()];
}

function endsText({ ip, ip6 }: Ends): string {
  return `${ip}/${ip6}`;
}

// One of the two clusters that are compared.

export interface Side {
  readonly reach: Reach;
  readonly workloads: Workloads;
  /** One place for each member. */
  readonly places: readonly ReachPlace[];
  /** The kinds of pods that are not there yet, and the place of each. */
  readonly newPods: NewPods;
  /** The indexes of those that there can be. */
  readonly possible: ReadonlySet<number>;
  readonly others: readonly ReachPlace[];
}

export interface Compared {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

/** Two clusters that are compared, with what both have in common. */
export interface Pair {
  readonly old: Compared;
  readonly now: Compared;
  readonly pool: ConnectionPool;
  readonly portNames: readonly string[];
  readonly newPods: NewPods;
  readonly unknownPods: UnknownPods;
}

/** What was found of a pair before is taken over where it holds. */
export function pairOf(old: Compared, given: Compared, unknownPods: UnknownPods, before?: Pair): Pair {
  const now = { ...given, cluster: withObjectsOf(old.cluster, given.cluster) };
  const alongside = [old.cluster, now.cluster];
  const portNames = [...portNamesOf(alongside)];
  const isKnown = before !== undefined && isSameList(before.portNames, portNames);
  const pool = isKnown ? before.pool : new ConnectionPool(portNames);
  return { old, now, pool, portNames, newPods: newPodsOf(alongside, before?.newPods), unknownPods };
}

/** The same cluster, with the objects of another one that say the same: so they are one object in both. */
function withObjectsOf(old: Cluster, now: Cluster): Cluster {
  return {
    ...now,
    pods: withValuesOf(old.pods, now.pods),
    namespaces: withValuesOf(old.namespaces, now.namespaces),
    nodes: withValuesOf(old.nodes, now.nodes),
    policies: withValuesOf(old.policies, now.policies),
  };
}

function withValuesOf<K, V>(old: ReadonlyMap<K, V>, now: ReadonlyMap<K, V>): ReadonlyMap<K, V> {
  let found: Map<K, V> | undefined;
  for (const [key, value] of now) {
    const was = old.get(key);
    if (was === undefined || was === value || JSON.stringify(was) !== JSON.stringify(value)) continue;
    // A key that is there keeps its place.
    found ??= new Map(now);
    found.set(key, was);
  }
  return found ?? now;
}

/** `namespaces` are some that are in neither cluster. */
export function sidesOf(
  { old, now, pool, newPods, unknownPods }: Pair,
  namespaces: readonly Namespace[] = [],
  before: readonly Side[] = [],
): readonly [Side, Side] {
  const clusters = [old, now].map(({ cluster }) => withNamespaces(cluster, namespaces));
  const possible = new Set(
    newPods.kinds.flatMap((kind, i) =>
      kind.namespaces.every(each => isPossibleWith(namespaces, each)) ? [i] : [],
    ),
  );
  const side = ({ inventory }: Compared, index: number, known: readonly Side[]): Side => {
    const cluster = clusters[index]!;
    const workloads = workloadsIn(cluster, inventory);
    const imagined = [...workloads.imagined, ...imaginedOf(newPods, index, pool.namedPorts)];
    const reaches = known.map(({ reach }) => reach);
    const reach = reachOf(cluster, { unknownPods, imagined, pool, alongside: clusters, before: reaches });
    const same = known.find(each => each.reach.clusterIndex.templates === reach.clusterIndex.templates);
    if (same !== undefined) return { ...same, reach, workloads, newPods, possible };
    const places = imaginedPlaces(reach);
    const templates = places.slice(0, workloads.imagined.length);
    const others = places.slice(workloads.imagined.length);
    return { reach, workloads, places: [...reachPlaces(reach), ...templates], newPods, possible, others };
  };
  const first = side(old, 0, before);
  return [first, side(now, 1, [first, ...before])];
}

/**
 * The same sides with other addresses of pods that have none. What opens at one address and closes at another is the
 * same at `all` and at `any`, so destinations are tried in each part beside sources at any address, and the reverse.
 */
export function withOtherAddresses(
  sides: readonly [Side, Side],
  areParted: boolean,
  before: readonly (readonly Side[])[] = [],
): (readonly [Side, Side])[] {
  const count = partsOfAddresses(sides);
  if (count < 2) return [];
  const parts = areParted ? Array.from({ length: count }, (_, part) => part) : [];
  const all: UnknownAddresses[] = [
    { egress: 'any', ingress: 'any' },
    { egress: 'all', ingress: 'any' },
    { egress: 'any', ingress: 'all' },
    ...parts.flatMap((part): UnknownAddresses[] => [
      { egress: part, ingress: 'any' },
      { egress: 'any', ingress: part },
    ]),
  ];
  const at = (side: Side, unknown: UnknownAddresses, known: readonly Side[]) => {
    const reaches = known.map(({ reach }) => reach);
    return { ...side, reach: reachWith(side.reach, unknown, reaches) };
  };
  return all.map((unknown, i) => {
    const known = before[i] ?? [];
    const old = at(sides[0], unknown, known);
    return [old, at(sides[1], unknown, [old, ...known])] as const;
  });
}

/** In how many parts policies cut the addresses that pods without one may get. */
export function partsOfAddresses(sides: readonly [Side, Side]): number {
  return Math.max(...sides.map(({ reach }) => possibleAddresses(reach)));
}

/** Whether a policy that is not the same on both sides has a network. */
export function haveOtherNetworks(sides: readonly [Side, Side]): boolean {
  const [before, after] = sides.map(({ reach }) => reach.clusterIndex.cluster.policies);
  return [...changedPolicies(...sides)].some(id =>
    [before!.get(id), after!.get(id)].some(policy => policy !== undefined && hasNetwork(policy)),
  );
}

/** The policies that only one side has, or that are others there. */
export function changedPolicies(old: Side, now: Side): ReadonlySet<PolicyId> {
  const [before, after] = [old.reach.clusterIndex.cluster.policies, now.reach.clusterIndex.cluster.policies];
  const ids = new Set([...before.keys(), ...after.keys()]);
  return new Set([...ids].filter(id => before.get(id) !== after.get(id)));
}

function hasNetwork(policy: Policy): boolean {
  return rulesOf(policy).some(({ peers }) => peers !== 'any' && peers.some(({ kind }) => kind === 'network'));
}

/** Pods that are not there yet, in the order of their kinds. */
export function newUnitsOf(old: Side, now: Side): Unit[] {
  return now.newPods.kinds.map(({ selector }, index) => ({
    old: [old.others[index]!.ends],
    now: [now.others[index]!.ends],
    members: [{ kind: 'new', index, name: newPodText(selector) }],
  }));
}

/**
 * By the index of a kind of pods in a named namespace: units of workloads whose pods have the labels of the kind, and no
 * others that policies know. They are named instead.
 */
export function twinsOf(old: Side, now: Side, units: readonly Unit[]): (kind: number) => readonly number[] {
  // Most edits change nothing for a kind of pods that may have one.
  const byLabels = once(() => {
    const found = new Map<string, number[]>();
    for (const [i, unit] of units.entries()) {
      const [was, is] = [labelsText(old, unit.old), labelsText(now, unit.now)];
      if (was !== undefined && was === is) getOrMake(found, was, () => []).push(i);
    }
    return found;
  });
  return kind => {
    const { selector, labels, namespaces } = now.newPods.kinds[kind]!;
    const { name } = namespaces[0]!;
    if (name === '' || selector.pods.requirements.length === 0) return [];
    return byLabels().get(textOfLabels(name, labels)) ?? [];
  };
}

/** Undefined if the unit is not one template of pods. */
function labelsText({ reach }: Side, [ends, ...others]: readonly Ends[]): string | undefined {
  const [found] = Object.entries(ends ?? {}) as [Family, number][];
  if (found === undefined || others.length > 0) return undefined;
  const [family, end] = found;
  const { template } = reach.families[family].ends.all[end]!;
  if (template === undefined) return undefined;
  const { namespace, labels } = reach.clusterIndex.templates.all[template]!;
  return textOfLabels(namespace.name, labels);
}

function textOfLabels(namespace: string, labels: Labels): string {
  return JSON.stringify([namespace, Object.entries(labels).sort()]);
}

// Names of the DNS that are compared: each class of names, in as many parts as the policies of either cluster make of the
// addresses behind them, for the workloads that have a rule by such a name in either.

export function domainUnits(old: Side, now: Side): Unit[] {
  const sides = [old, now] as const;
  return old.reach.clusterIndex.names.flatMap((_, nameClass) => {
    const resolving = new Set(sides.flatMap(side => workloadsResolving(side, nameClass)));
    if (resolving.size === 0) return [];
    const groups = new Map(
      familiesOf(now.reach).map(family => {
        const tellers = sides.map(side => tellerOf(side, family, nameClass, resolving));
        const teller: Teller = region => tellers.map(tell => tell(region)).join('|');
        return [family, regionGroups([old.reach, now.reach], family, teller)] as const;
      }),
    );
    const [before, after] = sides.map(({ reach }) => placesOfClass(reach, nameClass, groups));
    return before!.map((place, i) => unitOf(place, after![i]!));
  });
}

/** The places of pods, those that are not there yet among them, by the names of their workloads or kinds. */
function namedPlaces({ workloads, places, others }: Side): (readonly [string, Ends])[] {
  const known = places.flatMap(({ members, ends }) =>
    members.flatMap(each => {
      const name = workloadOfMember(workloads, each);
      return name === undefined ? [] : [[name, ends] as const];
    }),
  );
  return [...known, ...others.map(({ ends }, i) => [`new ${i}`, ends] as const)];
}

/** The workloads and kinds of one side that have a rule by such a name. */
function workloadsResolving(side: Side, nameClass: number): string[] {
  const mayResolve = (ends: Ends) =>
    (Object.entries(ends) as [Family, number][]).some(([family, end]) =>
      side.reach.families[family].mayResolve(end, nameClass),
    );
  return namedPlaces(side).flatMap(([name, ends]) => (mayResolve(ends) ? [name] : []));
}

/** What decides for these workloads at an address of a region with the name: rules, and whether tunnels of nodes lead there. */
function tellerOf(side: Side, family: Family, nameClass: number, names: ReadonlySet<string>): Teller {
  const { reach } = side;
  const { ends } = reach.families[family];
  const meant = namedPlaces(side).filter(([name]) => names.has(name));
  const sources = new Set(meant.flatMap(([, own]) => own[family] ?? []));
  const numbers = new Map<JudgedPeers | undefined, number>();
  const numberOf = (source: number, end: number) => {
    const group = reach.families[family].group('egress', source, end);
    return getOrMake(numbers, group, () => numbers.size);
  };
  return region => {
    const named = ends.named(ends.outside[region]!, nameClass);
    const { isOutside } = ends.all[ends.outside[region]!]!;
    return `${isOutside} ${[...sources].map(source => numberOf(source, named))}`;
  };
}

function unitOf(before: ReachPlace, after: ReachPlace): Unit {
  const members = after.members.flatMap(member => (member.kind === 'domain' ? [member] : []));
  return { old: [before.ends], now: [after.ends], members };
}
