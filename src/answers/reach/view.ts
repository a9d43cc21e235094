/** A reach report with names, for every format that shows it. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { once } from '../../lib/collections/once.ts';
import { isSameList } from '../../lib/collections/samelist.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { type Address, cidrText, FAMILIES, type Family, familyOf } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction } from '../../model/policy.ts';
import { cidrsOf } from '../../model/ranges.ts';
import { memberName } from '../../model/workload.ts';
import { type CoveredWorkload, coveredWorkloads } from '../coverage/isolation.ts';
import { type Entryways, NO_ENTRYWAYS } from '../entrances/entryways.ts';
import { API_SERVER, apiServerEndpoints } from '../questions/apiserver.ts';
import { serviceText } from '../questions/endpoint.ts';
import { cellBetween, namespaceOfMember, namespaceOfSelector, type SureOf } from './beyond.ts';
import type { ConnectionPool, Connections } from './connections.ts';
import { regionsOfNames } from './domains.ts';
import { type Exposure, exposuresOf } from './exposure.ts';
import { type Matrix, type MatrixLine, matrixOf } from './matrixlines.ts';
import { newPodsOf, newPodText } from './newpods.ts';
import {
  type Cell,
  type DomainMember,
  type Ends,
  endsOf,
  familiesOf,
  joined,
  type Member,
  nodesOfSeveral,
  type ReachPlace,
  reachPlaces,
  type Workloads,
  workloadOfMember,
  workloadsIn,
} from './places.ts';
import type { Reach } from './reach.ts';
import { type Counts, networksBesideInternet, ownTunnelNotes, unknownAddressNotes } from './unknown.ts';
import { labelNotes, type UnknownLabels, type World, worldsOf } from './worlds.ts';

export interface EndView {
  readonly kind: 'workload' | 'node' | 'network' | 'domain';
  /**
   * Members that every policy treats alike: `Deployment shop/web`, `node1`, `10.0.0.0/8`, `internet`, `*.example.org`.
   */
  readonly members: readonly string[];
  /** Where only some pods of a workload are meant, or some addresses of a node: `2 of 3 pods`, by its name. */
  readonly parts: ReadonlyMap<string, string>;
  /** Namespace and labels of its pods, for selectors. */
  readonly pods: readonly { readonly namespace: string; readonly labels: Labels }[];
  readonly line: MatrixLine;
}

export interface ExposureView {
  readonly direction: Direction;
  readonly members: readonly string[];
  /** `any other pod`, `pods app=x in namespaces team=a`. */
  readonly whom: string;
  readonly cell: Cell;
}

export interface MatrixView {
  readonly pool: ConnectionPool;
  /** Workloads by name, then nodes, then networks, the internet last, then names of the DNS. */
  readonly ends: readonly EndView[];
  /** The connections of a pair of which at least one is a workload. */
  cell(from: EndView, to: EndView): Cell;
  /** Made when they are first asked for: they took a third of the time of a large matrix. */
  readonly exposures: readonly ExposureView[];
  /** The caller may not list all pods: those of exposures may be there. */
  readonly hidesPods?: boolean;
  /** From outside through ingress controllers. */
  readonly entryways: Entryways;
  /** Whether policies isolate each workload, by its name. */
  readonly isolation: ReadonlyMap<string, CoveredWorkload>;
  /** What was judged. */
  readonly counts: Counts;
  /** The networks that `internet` leaves out. */
  readonly networks: readonly string[];
  /** What is not known, or not judged. */
  readonly notes: readonly string[];
}

/** `sureOf` are the namespaces of which all policies could be read, if those of others could not. */
export function matrixViewOf(
  { cluster, inventory }: { readonly cluster: Cluster; readonly inventory: Inventory },
  unknownPods: UnknownPods,
  sureOf?: SureOf,
): MatrixView {
  const workloads = workloadsIn(cluster, inventory);
  const report = reachReportOf(cluster, workloads, unknownPods);
  const { reach, matrix, pods, isCut, labels } = report;
  const sizes = podsOfWorkloads(report, workloads);
  const several = nodesOfSeveral(matrix.lines);
  const membersOf = workloadNamesOf(workloads, pods);
  const ends = matrix.lines
    .filter(line => isShown(reach, line))
    .flatMap(line => partsBySureness(line, sureOf, workloads))
    .map(line => endView(reach, workloads, { sizes, several }, line))
    .map(end => withApiServer(reach, inventory, end));
  const exposures = once(() =>
    report.exposures().map(({ direction, places, whom, cell }): ExposureView => {
      const members = membersOf(places);
      const namespaces = () => [...members.map(namespaceOfMember), namespaceOfSelector(whom)];
      const between = cellBetween(reach.pool, sureOf, cell, namespaces);
      return { direction, members, whom: newPodText(whom), cell: between };
    }),
  );
  return {
    pool: reach.pool,
    ends: ends.sort(compareEnds),
    cell: (from, to) =>
      cellBetween(reach.pool, sureOf, matrix.cell(from.line, to.line), () =>
        [...from.pods, ...to.pods].map(({ namespace }) => namespace),
      ),
    get exposures() {
      return exposures();
    },
    entryways: NO_ENTRYWAYS,
    isolation: new Map(
      coveredWorkloads(cluster, inventory, ({ namespace }) => sureOf?.includes(namespace) ?? true).map(
        each => [each.workload, each],
      ),
    ),
    counts: { workloads: sizes.size, policies: cluster.policies.size },
    networks: networksBesideInternet(reach),
    notes: [
      ...labelNotes(labels),
      ...unknownAddressNotes(reach, addresslessText([workloads])),
      ...ownTunnelNotes([cluster], reach.pool, () => leavingOf(matrix)),
      ...(isCut ? [CUT] : []),
    ],
  };
}

/** What pods may send to networks and to addresses of names. */
function leavingOf({ lines, cell }: Matrix): Connections[] {
  const outside = lines.filter(({ members }) =>
    members.some(({ kind }) => kind === 'network' || kind === 'domain'),
  );
  return lines
    .filter(isOfPods)
    .flatMap(from => outside.map(to => cell(from, to)))
    .flatMap(found => FAMILIES.flatMap(family => found[family] ?? []));
}

/** The pods that may get any address. */
export function addresslessText(sides: readonly Workloads[]): string {
  const isSome = sides.some(({ imagined }) => imagined.length > 0);
  return isSome ? 'pods without an address' : 'pods that are not there yet';
}

/** The note where `isCut` is true. */
export const CUT =
  'policies tell too many kinds of pods apart: not all that are not there yet were judged, and some that are not listed may be allowed';

function hashOf(numbers: readonly number[]): number {
  let hash = numbers.length;
  for (const each of numbers) hash = (Math.imul(hash, 31) + each) | 0;
  return hash;
}

/** The names of workloads by the indexes of their places. */
function workloadNamesOf(workloads: Workloads, pods: readonly ReachPlace[]) {
  const names = pods.map(({ members }) => members.map(member => workloadOfMember(workloads, member)!));
  const known = new Map<
    number,
    { readonly places: readonly number[]; readonly names: readonly string[] }[]
  >();
  return (places: readonly number[]): readonly string[] => {
    const alike = getOrMake(known, hashOf(places), () => []);
    const same = alike.find(each => isSameList(each.places, places));
    if (same !== undefined) return same.names;
    const found = [...new Set(places.flatMap(place => names[place]!))].sort();
    alike.push({ places, names: found });
    return found;
  };
}

/** Addresses of pod networks that no known pod has are always denied, so they need no line. */
function isShown({ families }: Reach, { ends: [ends] }: MatrixLine): boolean {
  return (Object.entries(ends!) as [Family, number][]).every(
    ([family, end]) => !families[family].ends.all[families[family].ends.bare(end)]!.isUnknownPod,
  );
}

function podsOfWorkloads({ matrix }: ReachReport, workloads: Workloads): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const member of matrix.lines.flatMap(({ members }) => members)) {
    const workload = workloadOfMember(workloads, member);
    if (workload !== undefined) sizes.set(workload, (sizes.get(workload) ?? 0) + 1);
  }
  return sizes;
}

interface Whole {
  /** Pods of each workload. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly several: ReadonlySet<string>;
}

function endView(reach: Reach, workloads: Workloads, { sizes, several }: Whole, line: MatrixLine): EndView {
  const { kind } = line.members[0]!;
  if (kind === 'network')
    return { kind, members: networkNames(reach, line), parts: NO_PARTS, pods: [], line };
  if (kind === 'domain')
    return { kind, members: domainTexts(reach, line.members), parts: NO_PARTS, pods: [], line };
  if (kind === 'node') return { ...nodesView(line, several), line };
  const counts = new Map<string, number>();
  for (const member of line.members) {
    const workload = workloadOfMember(workloads, member)!;
    counts.set(workload, (counts.get(workload) ?? 0) + 1);
  }
  const some = [...counts].filter(([workload, count]) => count < sizes.get(workload)!);
  const parts = new Map(
    some.map(([workload, count]) => [workload, `${count} of ${sizes.get(workload)} pods`]),
  );
  const pods = line.members.flatMap(member => podsOfMember(workloads, member));
  return { kind: 'workload', members: [...counts.keys()].sort(), parts, pods, line };
}

/** The API server beside the node or the networks that its endpoints are to every policy. */
function withApiServer(reach: Reach, inventory: Inventory, end: EndView): EndView {
  const [own] = end.line.ends;
  const here = [...apiServerEndpoints(inventory)].flatMap(([address, ports]) => {
    const family = familyOf(address);
    if (own![family] !== endsOf(reach, [address])[family]) return [];
    return ports.map(port => `${family === 'ip6' ? `[${address}]` : address}:${port}`);
  });
  if (here.length === 0) return end;
  const name = serviceText(API_SERVER);
  return { ...end, members: [...end.members, name], parts: new Map(end.parts).set(name, here.join(', ')) };
}

/** What is alike to the policies that could be read is in two, if only the policies on some of it are all known. */
function partsBySureness(line: MatrixLine, sureOf: SureOf, workloads: Workloads): MatrixLine[] {
  if (sureOf === undefined) return [line];
  const isKnown = (member: Member) =>
    podsOfMember(workloads, member).every(({ namespace }) => sureOf.includes(namespace));
  return [isKnown, (member: Member) => !isKnown(member)]
    .map(isWanted => ({ ...line, members: line.members.filter(isWanted) }))
    .filter(({ members }) => members.length > 0);
}

function podsOfMember({ imagined }: Workloads, member: Member): EndView['pods'] {
  if (member.kind === 'pod') return [member.pod];
  if (member.kind !== 'imagined') return [];
  const { namespace, labels } = imagined[member.index]!;
  return [{ namespace: namespace.name, labels }];
}

const NO_PARTS: ReadonlyMap<string, string> = new Map();

/** A node whose addresses are in two lines, as one of them is public, is named with its addresses. */
function nodesView({ members }: MatrixLine, several: ReadonlySet<string>): Omit<EndView, 'line'> {
  const found = new Map<string, Address[]>();
  for (const member of members)
    if (member.kind === 'node') getOrMake(found, member.node.name, () => []).push(...member.addresses);
  const parts = [...found].filter(([name]) => several.has(name));
  return {
    kind: 'node',
    members: [...found.keys()].sort(),
    parts: new Map(parts.map(([name, addresses]) => [name, addresses.join(', ')])),
    pods: [],
  };
}

function networkNames(reach: Reach, { members }: MatrixLine): string[] {
  const names = members.flatMap(member =>
    member.kind === 'network' ? networkText(reach, member.regions) : [],
  );
  return [...new Set(names)];
}

const ORDER = { workload: 0, node: 1, network: 2, domain: 3 } as const;

function compareEnds(a: EndView, b: EndView): number {
  const internet = (end: EndView) => Number(end.members.includes(INTERNET_TEXT));
  const [first = '', second = ''] = [memberName(a.members[0]!), memberName(b.members[0]!)];
  return ORDER[a.kind] - ORDER[b.kind] || internet(a) - internet(b) || (first < second ? -1 : 1);
}

/** All connections in a cluster: between existing ends, and with pods that do not exist yet. */
interface ReachReport {
  readonly reach: Reach;
  readonly matrix: Matrix;
  /** Places of pods, and their exposures. */
  readonly pods: readonly ReachPlace[];
  exposures(): readonly Exposure[];
  /** Whether some kinds of pods that are not there yet were not judged. */
  readonly isCut: boolean;
  readonly labels: UnknownLabels;
}

function reachReportOf(cluster: Cluster, workloads: Workloads, unknownPods: UnknownPods): ReachReport {
  const newPods = newPodsOf([cluster]);
  const { worlds, ...labels } = worldsOf(cluster, workloads, newPods, unknownPods);
  const [{ reach, templates }] = worlds as [World];
  const places = [...reachPlaces(reach), ...templates];
  const pods = joined(places).filter(isOfPods);
  const exposures = () => exposuresOf(worlds, pods, newPods.kinds);
  return { reach, matrix: matrixOf(worlds, places), pods, exposures, isCut: newPods.isCut, labels };
}

function isOfPods({ members }: Pick<ReachPlace, 'members'>): boolean {
  return members.some(({ kind }) => kind === 'pod' || kind === 'imagined');
}

// Names of the DNS as ends in words: by their patterns, and where policies say otherwise of some networks, by those too.

/** `*.example.org`; where not all addresses are meant, `*.example.org outside 10.0.0.0/8`, `*.example.org in 10.0.0.0/8`. */
export function domainTexts(reach: Reach, members: readonly Member[]): string[] {
  const parts = members.filter((member): member is DomainMember => member.kind === 'domain');
  const byClass = new Map<number, Set<string>>();
  for (const { nameClass, regions } of parts)
    for (const [family, some] of Object.entries(regions) as [Family, readonly number[]][])
      for (const region of some) getOrMake(byClass, nameClass, () => new Set()).add(`${family} ${region}`);
  const all = everywhere(reach);
  return [...byClass].flatMap(([nameClass, found]) => {
    const where = whereText(reach, all, found);
    return reach.clusterIndex.names[nameClass]!.patterns.map(pattern => `${pattern}${where}`);
  });
}

/** Describes where an address lies: outside of all listed networks, or in these. */
function whereText(reach: Reach, all: readonly string[], found: ReadonlySet<string>): string {
  const missing = all.filter(region => !found.has(region));
  if (missing.length === 0) return '';
  const others = namesOf(reach, missing);
  return others.includes(INTERNET_TEXT)
    ? ` in ${firstOf(namesOf(reach, [...found]), MOST_NETWORKS)}`
    : ` outside ${firstOf(others, MOST_NETWORKS)}`;
}

/** At most this many networks are listed with a pattern: a large cluster has too many for one line. */
const MOST_NETWORKS = 8;

function namesOf(reach: Reach, regions: readonly string[]): string[] {
  return [...new Set(regions.flatMap(region => networkText(reach, regionOf(region))))];
}

function everywhere(reach: Reach): string[] {
  return familiesOf(reach).flatMap(family =>
    regionsOfNames(reach, family).map(region => `${family} ${region}`),
  );
}

function regionOf(text: string) {
  const [family, region] = text.split(' ');
  return { [family!]: Number(region) };
}

// Regions as the networks that they are: what is left of a family once all networks of policies are taken is the internet.

export const INTERNET_TEXT = 'internet';

/** `10.0.0.0/8`, `internet`; of the regions of a place, each once. */
export function networkText({ families }: Reach, regions: Ends): string[] {
  const names = (Object.entries(regions) as [Family, number][]).flatMap(([family, region]) => {
    const { all, largest } = families[family].ends.regions;
    return region === largest
      ? [INTERNET_TEXT]
      : all[region]!.addresses.flatMap(range => cidrsOf({ family, ...range }).map(cidrText));
  });
  return [...new Set(names)];
}
