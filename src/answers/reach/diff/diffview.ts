/** What changes between two clusters, in names. */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import { FAMILIES, type Family } from '../../../model/address.ts';
import type { Labels } from '../../../model/labels.ts';
import type { UnknownPods } from '../../../model/podcidrs.ts';
import { changesBetween, type SureOf } from '../beyond.ts';
import type { ConnectionPool, Connections } from '../connections.ts';
import { type DomainMember, familiesOf, type Workloads, workloadsIn } from '../places.ts';
import type { Reach } from '../reach.ts';
import { type Counts, networksBesideInternet, ownTunnelNotes, unknownAddressNotes } from '../unknown.ts';
import { addresslessText, CUT, domainTexts, INTERNET_TEXT, networkText } from '../view.ts';
import { completedNamespaces, labelNotes, namespaceNames, type UnknownLabels } from '../worlds.ts';
import { type Change, changesInAll, changesOf } from './changes.ts';
import {
  type Compared,
  haveOtherNetworks,
  type Pair,
  pairOf,
  partsOfAddresses,
  type Side,
  sidesOf,
  type Unit,
  type UnitMember,
  withOtherAddresses,
} from './units.ts';

export interface ChangeView {
  readonly kind: 'opens' | 'closes';
  /** `Deployment shop/web`, `node/node1`, `10.0.0.0/8`, `internet`, `domain *.example.org`. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly families: readonly Family[];
  readonly connections: Connections;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Whether this depends on labels or addresses that are not known. */
  readonly undecided?: true;
}

export type IsMeant = (pod: { readonly namespace: string; readonly labels: Labels }) => boolean;

export interface DiffView {
  readonly pool: ConnectionPool;
  /** The families of pods in either cluster. */
  readonly families: readonly Family[];
  /** The changes by name; those that open come first. */
  readonly changes: readonly ChangeView[];
  /** Workloads that only one of the two clusters has. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** What was compared, on both sides together. */
  readonly counts: Counts;
  /** The networks that `internet` leaves out. */
  readonly networks: readonly string[];
  /** What is not known, or was not compared. */
  readonly notes: readonly string[];
}

/**
 * Changes of the workloads that `isMeant` accepts, in either cluster. `sureOf` are the namespaces of which all policies
 * could be read, if those of others could not.
 */
export function diffOf(
  old: Compared,
  now: Compared,
  unknownPods: UnknownPods,
  isMeant: IsMeant = () => true,
  sureOf?: SureOf,
): DiffView {
  return diffViewOf(comparisonOf(old, now, unknownPods), isMeant, sureOf);
}

/** Two clusters, judged in all worlds, of which the first is what is known. */
export interface Comparison {
  readonly pair: Pair;
  readonly labels: UnknownLabels;
  /** For the namespaces of each world, the sides; the first with the addresses that are sure, then with others. */
  readonly worlds: readonly (readonly (readonly [Side, Side])[])[];
  readonly areParted: boolean;
}

/** `before` is an earlier comparison: what is the same in it is not judged again. */
export function comparisonOf(
  old: Compared,
  now: Compared,
  unknownPods: UnknownPods,
  before?: Comparison,
): Comparison {
  const pair = pairOf(old, now, unknownPods, before?.pair);
  const inhabited = [old, now].flatMap(({ cluster, inventory }) =>
    namespaceNames(workloadsIn(cluster, inventory)),
  );
  const { namespaces, ...labels } = completedNamespaces([old.cluster, now.cluster], inhabited);
  const known = namespaces.map((each, i) => sidesOf(pair, each, before?.worlds[i]?.[0]));
  const areParted =
    namespaces.length * partsOfAddresses(known[0]!) <= MOST_PARTS && haveOtherNetworks(known[0]!);
  const worlds = known.map((sides, i) => [
    sides,
    ...withOtherAddresses(sides, areParted, before?.worlds[i]?.slice(1)),
  ]);
  return { pair, labels, worlds, areParted };
}

export function diffViewOf(
  { pair: { old, now }, labels, worlds: found, areParted }: Comparison,
  isMeant: IsMeant = () => true,
  sureOf?: SureOf,
): DiffView {
  const worlds = found.flat();
  const [before, after] = worlds[0]!;
  const meant = new Set([before, after].flatMap(({ workloads }) => [...workloadNames(workloads, isMeant)]));
  const newPods = after.newPods.kinds.map(({ namespaces, labels }) =>
    isMeant({ namespace: namespaces[1]!.name, labels }),
  );
  const isAsked = ({ members }: Unit) =>
    members.some(
      member =>
        (member.kind === 'workload' && meant.has(member.name)) ||
        (member.kind === 'new' && newPods[member.index]),
    );
  const changesOfAll = changesInAll(
    worlds.map(sides => changesOf(...sides, isAsked)),
    worlds,
  );
  const decided =
    sureOf === undefined
      ? changesOfAll
      : changesOfAll.flatMap(change => changesBetween(change, sureOf, after.newPods.kinds));
  const named = decided.map(({ from, to, ...what }) => ({
    ...what,
    from: namesOf(after.reach, from),
    to: namesOf(after.reach, to),
  }));
  const changes = inBothFamilies(named).map(({ from, to, ...what }) => ({
    ...what,
    from: sortedNames(from),
    to: sortedNames(to),
  }));
  const [names, others] = [before, after].map(({ workloads }) => workloadNames(workloads));
  return {
    pool: after.reach.pool,
    families: FAMILIES.filter(family =>
      [before, after].some(({ reach }) => familiesOf(reach).includes(family)),
    ),
    changes: changes.sort(compareChanges),
    added: [...others!].filter(name => meant.has(name) && !names!.has(name)).sort(),
    removed: [...names!].filter(name => meant.has(name) && !others!.has(name)).sort(),
    counts: {
      workloads: new Set([...names!, ...others!]).size,
      policies: new Set([...old.cluster.policies.keys(), ...now.cluster.policies.keys()]).size,
    },
    networks: [...new Set([before, after].flatMap(({ reach }) => networksBesideInternet(reach)))],
    notes: [
      ...labelNotes(labels, 'as what may open or close'),
      ...notesOf(before, after, areParted),
      ...ownTunnelNotes([old.cluster, now.cluster], after.reach.pool, () => leavingOf(decided)),
    ],
  };
}

/** What opens or closes from workloads to networks and to addresses of names. */
function leavingOf(changes: readonly Change[]): Connections[] {
  const has = (units: readonly Unit[], ...kinds: UnitMember['kind'][]) =>
    units.some(({ members }) => members.some(({ kind }) => kinds.includes(kind)));
  return changes
    .filter(({ from, to }) => has(from, 'workload') && has(to, 'network', 'domain'))
    .map(({ connections }) => connections);
}

/** Each part of the addresses is as much work as another comparison. */
const MOST_PARTS = 12;

function notesOf(before: Side, after: Side, areParted: boolean): string[] {
  const who = addresslessText([before.workloads, after.workloads]);
  const listed = 'as what may open or close';
  const addresses = [before, after].flatMap(({ reach }) => unknownAddressNotes(reach, who, listed));
  const sides = [before, after] as const;
  const isPartMissing = !areParted && partsOfAddresses(sides) > 1 && haveOtherNetworks(sides);
  const cuts = [...(after.newPods.isCut ? [CUT] : []), ...(isPartMissing ? [TOO_MANY_PARTS] : [])];
  return [...new Set([...addresses, ...cuts])];
}

const TOO_MANY_PARTS =
  'policies cut the addresses that pods may get into too many parts: what opens in one part and closes in another may be missing';

function workloadNames({ workloadOf, imagined }: Workloads, isMeant: IsMeant = () => true): Set<string> {
  const found = new Set<string>();
  for (const [pod, workload] of workloadOf) if (isMeant(pod)) found.add(workload);
  for (const { workload, namespace, labels } of imagined)
    if (isMeant({ namespace: namespace.name, labels })) found.add(workload);
  return found;
}

function namesOf(reach: Reach, units: readonly Unit[]): NamedUnits {
  const members = units.flatMap(unit => unit.members);
  const domains = members.filter(member => member.kind === 'domain');
  const [networks, others] = [new Set<string>(), new Set<string>()];
  for (const member of members)
    for (const name of member.kind === 'domain' ? [] : memberNames(reach, member))
      (member.kind === 'network' && name !== INTERNET_TEXT ? networks : others).add(name);
  for (const text of domainTexts(reach, domains)) others.add(`${DOMAIN}${text}`);
  return { networks: [...networks], others: [...others].sort() };
}

/** Names of the DNS are the last. */
function sortedNames({ networks, others }: NamedUnits): string[] {
  const isDomain = (name: string) => Number(name.startsWith(DOMAIN));
  return [...networks, ...others].sort((a, b) => isDomain(a) - isDomain(b) || (a < b ? -1 : 1));
}

const DOMAIN = 'domain ';

function memberNames(reach: Reach, member: Exclude<UnitMember, DomainMember>): string[] {
  if (member.kind === 'network') return networkText(reach, member.regions);
  return [member.kind === 'node' ? `node/${member.name}` : member.name];
}

function compareChanges(a: ChangeView, b: ChangeView): number {
  const [first, second] = [a, b].map(({ kind, from, to }) => `${kind === 'opens' ? 0 : 1} ${from} ${to}`);
  return first! < second! ? -1 : 1;
}

// Changes that are the same over IPv4 and over IPv6 are shown as one. Networks of the two families have different names
// and stay apart.

/** Some units of a change by name; networks, whose addresses show their family, apart from the others. */
interface NamedUnits {
  readonly networks: readonly string[];
  readonly others: readonly string[];
}

type NamedChange = Omit<Change, 'from' | 'to'> & {
  readonly from: NamedUnits;
  readonly to: NamedUnits;
};

function inBothFamilies(changes: readonly NamedChange[]): NamedChange[] {
  const found = new Map<string, NamedChange[]>();
  for (const change of changes) getOrMake(found, textOf(change), () => []).push(change);
  return [...found.values()].flatMap(alike => (isOfEachFamily(alike) ? [joined(alike)] : alike));
}

/** The key of changes that differ only in families and networks. */
function textOf({ kind, connections, before, after, undecided, from, to }: NamedChange): string {
  return JSON.stringify([kind, connections.id, before, after, undecided, from.others, to.others]);
}

/** If one family has several changes, it is not clear which of them belongs to which of the other family. */
function isOfEachFamily(alike: readonly NamedChange[]): boolean {
  const families = alike.flatMap(change => change.families);
  return alike.length === 2 && families.length === 2 && families[0] !== families[1];
}

function joined(alike: readonly NamedChange[]): NamedChange {
  const ends = (which: 'from' | 'to') => ({
    networks: alike.flatMap(change => change[which].networks),
    others: alike[0]![which].others,
  });
  return {
    ...alike[0]!,
    families: alike.flatMap(({ families }) => families),
    from: ends('from'),
    to: ends('to'),
  };
}
