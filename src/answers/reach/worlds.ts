/**
 * A cluster some of whose namespaces are not known, with labels that they may have: worlds. Between two pods only the
 * labels of their two namespaces matter, so for any two namespaces there is a world for each pair of labels. Where pods
 * have no address yet, there are more: what passes at all addresses that they may get, and what passes at any.
 */

import { type Address, FAMILIES, type Family } from '../../model/address.ts';
import { type Cluster, type Namespace, namespaceOf } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { portNamesOf } from './clusterindex.ts';
import { ConnectionPool, type Connections } from './connections.ts';
import { imaginedOf, type NewPods, possibleNamespaces, selectorsOf } from './newpods.ts';
import {
  type Cell,
  type Ends,
  endsOf,
  familiesOf,
  imaginedPlaces,
  type Member,
  type ReachPlace,
  type Workloads,
} from './places.ts';
import { type Reach, reachOf, reachWith } from './reach.ts';

export interface World {
  readonly reach: Reach;
  /** Places of pods without an address, and of workloads without pods. */
  readonly templates: readonly ReachPlace[];
  /** A place of one new pod of each kind, and the indexes of kinds that there can be. */
  readonly others: readonly ReachPlace[];
  readonly possible: ReadonlySet<number>;
}

/** What is not known of the labels of namespaces. */
export interface UnknownLabels {
  readonly unknown: readonly string[];
  /** There are more labels than were judged. */
  readonly isCutShort: boolean;
}

export function labelNotes({ unknown, isCutShort }: UnknownLabels, listed = 'as undecided'): string[] {
  if (unknown.length === 0) return [];
  const whose = `namespace${unknown.length === 1 ? '' : 's'} ${unknown.join(', ')}`;
  const are = `the labels of ${whose} are not known, as there is no Namespace object`;
  return [
    isCutShort
      ? `${are}, and there are too many possible ones: what they may deny is listed as denied`
      : `${are}: what depends on them is listed ${listed}`,
  ];
}

/** More worlds would take minutes. */
const MOST_WORLDS = 125;
const MOST_LABELS = 12;

export function worldsOf(
  cluster: Cluster,
  workloads: Workloads,
  newPods: NewPods,
  unknownPods: UnknownPods,
): UnknownLabels & { readonly worlds: readonly World[] } {
  const pool = new ConnectionPool(portNamesOf([cluster]));
  const { namespaces, unknown, isCutShort } = completedNamespaces([cluster], namespaceNames(workloads));
  const worlds = namespaces.flatMap((each): World[] => {
    const known = withNamespaces(cluster, each);
    const own = workloads.imagined.map(pod => ({
      ...pod,
      namespace: namespaceOf(known, pod.namespace.name),
    }));
    const imagined = [...own, ...imaginedOf(newPods, 0, pool.namedPorts)];
    const reach = reachOf(known, { unknownPods, imagined, pool });
    const places = imaginedPlaces(reach);
    const isPossible = (namespace: Namespace) => isPossibleWith(each, namespace);
    const world: World = {
      reach,
      templates: places.slice(0, own.length),
      others: places.slice(own.length),
      possible: new Set(newPods.kinds.flatMap((kind, i) => (isPossible(kind.namespaces[0]!) ? [i] : []))),
    };
    if (possibleAddresses(reach) < 2) return [world];
    return [world, { ...world, reach: reachWith(reach, { egress: 'any', ingress: 'any' }) }];
  });
  return { worlds, unknown, isCutShort };
}

/** In how many parts policies cut the addresses that pods without one may get, of the family that has most. */
export function possibleAddresses(reach: Reach): number {
  return Math.max(...familiesOf(reach).map(family => reach.families[family].ends.possible.length));
}

function sameLabels(a: Namespace['labels'], b: Namespace['labels']): boolean {
  const text = (labels: Namespace['labels']) => JSON.stringify(Object.entries(labels).sort());
  return text(a) === text(b);
}

export function withNamespaces(cluster: Cluster, all: readonly Namespace[]): Cluster {
  if (all.length === 0) return cluster;
  const added = all.map(namespace => [namespace.name, namespace] as const);
  return { ...cluster, namespaces: new Map([...cluster.namespaces, ...added]) };
}

/** Whether there can be such a pod in a world with these namespaces. */
export function isPossibleWith(chosen: readonly Namespace[], { name, labels }: Namespace): boolean {
  const same = chosen.find(each => each.name === name);
  return same === undefined || sameLabels(same.labels, labels);
}

/** The names of the namespaces of pods and workloads. */
export function namespaceNames({ imagined, workloadOf }: Workloads): string[] {
  const templates = imagined.map(({ namespace }) => namespace.name);
  return [...templates, ...[...workloadOf.keys()].map(({ namespace }) => namespace)];
}

/** The namespaces of each world that no cluster knows; one world without any where all are known. */
export function completedNamespaces(
  clusters: readonly Cluster[],
  names: readonly string[],
): UnknownLabels & { readonly namespaces: readonly (readonly Namespace[])[] } {
  // What an agent does not know it denies, so that is the answer to what it does.
  const isUnknown = (name: string) =>
    clusters.every(({ namespaces, seenBy }) => !namespaces.has(name) && seenBy === undefined);
  const missing = [...new Set(names)].filter(isUnknown);
  if (missing.length === 0) return { namespaces: [[]], unknown: [], isCutShort: false };
  const selectors = clusters.flatMap(({ policies }) => [...policies.values()].flatMap(selectorsOf));
  const all = missing.map(name => ({ name, ...possibleNamespaces(selectors, name, MOST_LABELS) }));
  const several = all.filter(({ namespaces }) => namespaces.length > 1);
  const worlds = all.some(({ isCut }) => isCut) ? undefined : pairwise(all.map(each => each.namespaces));
  return {
    namespaces: worlds ?? [[]],
    unknown: several.map(({ name }) => name).sort(),
    isCutShort: worlds === undefined,
  };
}

/**
 * Some of the ways to choose one of each list, such that for any two lists each pair is chosen once. For a prime p that
 * is not smaller than a list or than the number of lists these are the lines of a plane: of list m, (a * m + b) mod p.
 */
function pairwise<T>(lists: readonly (readonly T[])[]): T[][] | undefined {
  const product = lists.reduce((sum, { length }) => sum * length, 1);
  const least = Math.max(
    lists.filter(({ length }) => length > 1).length,
    ...lists.map(({ length }) => length),
  );
  const p = PRIMES.find(prime => prime >= least);
  if (product <= Math.min(MOST_WORLDS, (p ?? 0) ** 2)) return products(lists);
  if (p === undefined) return undefined;
  const places = new Map(lists.filter(({ length }) => length > 1).map((list, m) => [list, m]));
  const worlds = Array.from({ length: p * p }, (_, i) =>
    lists.map(list => list[((Math.floor(i / p) * (places.get(list) ?? 0) + i) % p) % list.length]!),
  );
  return worlds;
}

const PRIMES = [2, 3, 5, 7, 11];

function products<T>(lists: readonly (readonly T[])[]): T[][] {
  return lists.reduce<T[][]>((all, list) => all.flatMap(chosen => list.map(each => [...chosen, each])), [[]]);
}

// What is the same in all worlds.

/** The ends of a place in a world, by any of its members. */
export function endsIn({ reach }: World, members: readonly Member[]): Ends {
  const { families } = reach;
  const [first] = members;
  const each = (endOf: (family: Family) => number | undefined): Ends =>
    Object.fromEntries(
      FAMILIES.flatMap(family => {
        const end = endOf(family);
        return end === undefined ? [] : [[family, end]];
      }),
    );
  switch (first!.kind) {
    case 'pod':
    case 'node':
      return endsOf(reach, first!.addresses as readonly Address[]);
    case 'imagined': {
      const { index } = first!;
      const known = familiesOf(reach);
      return each(family => (known.includes(family) ? families[family].ends.imagined[index] : undefined));
    }
    case 'network': {
      const { regions } = first!;
      return each(family => {
        const region = regions[family];
        return region === undefined ? undefined : families[family].ends.outside[region];
      });
    }
    case 'domain': {
      // A class of names has a part for each family.
      const { nameClass } = first!;
      const parts = members.filter(member => member.kind === 'domain');
      return each(family => {
        const { ends } = families[family];
        const region = parts.find(({ regions }) => regions[family] !== undefined)?.regions[family]?.[0];
        return region === undefined ? undefined : ends.named(ends.outside[region]!, nameClass);
      });
    }
  }
}

/** What is allowed in all of these, and as `undecided` what is allowed in some. */
export function cellInAll(cells: readonly Cell[], pool: ConnectionPool): Cell {
  const [first, ...others] = cells as [Cell];
  if (others.length === 0) return first;
  const cell: Partial<Record<Family, Connections>> = {};
  const undecided: Partial<Record<Family, Connections>> = {};
  for (const family of FAMILIES) {
    if (first[family] === undefined) continue;
    const all = others.reduce((sum, each) => pool.and(sum, each[family]!), first[family]);
    const any = others.reduce((sum, each) => pool.or(sum, each[family]!), first[family]);
    cell[family] = all;
    if (all !== any) undecided[family] = pool.minus(any, all);
  }
  return Object.keys(undecided).length === 0 ? cell : { ...cell, undecided };
}
