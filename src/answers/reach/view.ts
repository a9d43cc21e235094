/** A reach report with names, for every format that shows it. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { type Address, cidrText, type Family } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction } from '../../model/policy.ts';
import { cidrsOf } from '../../model/ranges.ts';
import { textOfWords } from './bits.ts';
import { type ImaginedPod, portNamesOf } from './clusterindex.ts';
import { ConnectionPool } from './connections.ts';
import { domainPlaces, regionsOfNames } from './domains.ts';
import { type Exposure, exposuresOf } from './exposure.ts';
import { imaginedOf, newPodsOf, newPodText } from './newpods.ts';
import {
  type Cell,
  cellKeys,
  cellOf,
  type DomainMember,
  type Ends,
  familiesOf,
  imaginedPlaces,
  joined,
  type Member,
  nodesOfSeveral,
  type ReachPlace,
  reachPlaces,
  type Workloads,
  workloadOfMember,
  workloadsIn,
} from './places.ts';
import { type Reach, reachOf } from './reach.ts';
import { type Counts, networksBesideInternet, unknownAddressNotes } from './unknown.ts';

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
  readonly exposures: readonly ExposureView[];
  /** What was judged. */
  readonly counts: Counts;
  /** The networks that `internet` leaves out. */
  readonly networks: readonly string[];
  /** What is not known, or not judged. */
  readonly notes: readonly string[];
}

export function matrixViewOf(
  { cluster, inventory }: { readonly cluster: Cluster; readonly inventory: Inventory },
  unknownPods: UnknownPods,
): MatrixView {
  const workloads = workloadsIn(cluster, inventory);
  const report = reachReportOf(cluster, workloads.imagined, unknownPods);
  const { reach, matrix, exposures, pods, isCut } = report;
  const sizes = podsOfWorkloads(report, workloads);
  const several = nodesOfSeveral(matrix.lines);
  const membersOf = workloadNamesOf(workloads, pods);
  const ends = matrix.lines
    .filter(line => isShown(reach, line))
    .map(line => endView(reach, workloads, { sizes, several }, line));
  return {
    pool: reach.pool,
    ends: ends.sort(compareEnds),
    cell: (from, to) => matrix.cell(from.line, to.line),
    exposures: exposures.map(({ direction, places, whom, cell }) => ({
      direction,
      members: membersOf(places),
      whom: newPodText(whom),
      cell,
    })),
    counts: { workloads: sizes.size, policies: cluster.policies.size },
    networks: networksBesideInternet(reach),
    notes: [...unknownAddressNotes(reach, addresslessText([workloads])), ...(isCut ? [CUT] : [])],
  };
}

/** The pods that may get any address. */
export function addresslessText(sides: readonly Workloads[]): string {
  const isSome = sides.some(({ imagined }) => imagined.length > 0);
  return isSome ? 'pods without an address' : 'pods that are not there yet';
}

/** Of `isCut`. */
export const CUT =
  'policies tell too many kinds of pods apart: not all that are not there yet were judged, and some that are not listed may be allowed';

/** The names of workloads by the indexes of their places. */
function workloadNamesOf(workloads: Workloads, pods: readonly ReachPlace[]) {
  const names = pods.map(({ members }) => members.map(member => workloadOfMember(workloads, member)!));
  const known = new Map<string, readonly string[]>();
  return (places: readonly number[]): readonly string[] =>
    getOrMake(known, String(places), () => [...new Set(places.flatMap(place => names[place]!))].sort());
}

/** Addresses of pod networks that no known pod has are always denied, so they need no line. */
function isShown({ families }: Reach, { ends }: MatrixLine): boolean {
  return (Object.entries(ends) as [Family, number][]).every(
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

/** `shop/web` of `Deployment shop/web`; a member without a kind is shown as it is. */
export function memberName(member: string): string {
  return member.replace(/^[A-Z][A-Za-z0-9]* /, '');
}

/** All connections in a cluster: between existing ends, and with pods that do not exist yet. */
interface ReachReport {
  readonly reach: Reach;
  readonly matrix: Matrix;
  /** Places of pods, and their exposures. */
  readonly pods: readonly ReachPlace[];
  readonly exposures: readonly Exposure[];
  /** Whether some kinds of pods that are not there yet were not judged. */
  readonly isCut: boolean;
}

/** `templates` are those of workloads that have no pods: they are judged as if they had some. */
function reachReportOf(
  cluster: Cluster,
  templates: readonly ImaginedPod[],
  unknownPods: UnknownPods,
): ReachReport {
  const pool = new ConnectionPool(portNamesOf([cluster]));
  const newPods = newPodsOf([cluster]);
  const others = imaginedOf(newPods, 0, pool.namedPorts());
  const reach = reachOf(cluster, { unknownPods, imagined: [...templates, ...others], pool });
  const places = imaginedPlaces(reach);
  const absent = places.slice(0, templates.length);
  const pods = joined([...reachPlaces(reach), ...absent]).filter(isOfPods);
  const exposures = exposuresOf(reach, pods, newPods.kinds, places.slice(templates.length));
  return { reach, matrix: matrixOf(reach, absent), pods, exposures, isCut: newPods.isCut };
}

function isOfPods({ members }: ReachPlace): boolean {
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

// Who reaches whom: places of equal rows and equal columns are one line of the matrix.

interface MatrixLine {
  /** Any of its places represents all of them. */
  readonly ends: Ends;
  readonly members: readonly Member[];
}

export interface Matrix {
  readonly lines: readonly MatrixLine[];
  cell(from: MatrixLine, to: MatrixLine): Cell;
}

/** `extra` are places of pods that are not there. */
export function matrixOf(reach: Reach, extra: readonly ReachPlace[] = []): Matrix {
  const own = [...reachPlaces(reach), ...extra];
  const places = joined([...own, ...domainPlaces(reach, own)]);
  const texts = vectorTexts(reach, places);
  const lines = new Map<string, { ends: Ends; members: Member[] }>();
  for (const [i, { ends, members }] of places.entries())
    getOrMake(lines, `${kindOf(members)}${texts[i]}`, () => ({ ends, members: [] })).members.push(...members);
  return {
    lines: pairedNetworks(reach, [...lines.values()]),
    cell: (from, to) => cellOf(reach, from.ends, to.ends),
  };
}

/** Pods, nodes, networks and names stay apart even where policy treats them alike. */
function kindOf([member]: readonly Member[]): Member['kind'] {
  return member!.kind === 'imagined' ? 'pod' : member!.kind;
}

/** A key of the row and the column of each place; equal keys mean equal places. */
function vectorTexts(reach: Reach, places: readonly ReachPlace[]): string[] {
  const known = new Map<number, number>();
  const ends = places.map(place => place.ends);
  const columns = ends.map(() => new Uint32Array(ends.length));
  const rows = ends.map((from, i) => {
    const row = new Uint32Array(ends.length);
    for (const [j, key] of cellKeys(reach, from, ends).entries())
      row[j] = columns[j]![i] = getOrMake(known, key, () => known.size);
    return textOfWords(row);
  });
  return rows.map((row, i) => `${row}/${textOfWords(columns[i]!)}`);
}

/**
 * What is left of the addresses of each family is the internet, as one line; so are a network of IPv4 and one of IPv6
 * that dual-stack pods cannot tell apart, and names at two such networks.
 */
function pairedNetworks(reach: Reach, lines: readonly MatrixLine[]): MatrixLine[] {
  const dual = lines.filter(
    ({ ends, members }) => ends.ip !== undefined && ends.ip6 !== undefined && members[0]!.kind !== 'domain',
  );
  const keyOf = (line: MatrixLine, family: Family) =>
    isInternet(reach, line, family) ? 'internet' : networkKey(reach, line, family, dual);
  const v6 = new Map(lines.filter(isNetworkOf('ip6')).map(line => [keyOf(line, 'ip6'), line]));
  const used = new Set<MatrixLine>();
  const paired = lines.map(line => {
    const other = isNetworkOf('ip')(line) ? v6.get(keyOf(line, 'ip')) : undefined;
    if (other === undefined || used.has(other)) return line;
    used.add(other);
    return { ends: { ...line.ends, ...other.ends }, members: [...line.members, ...other.members] };
  });
  return paired.filter(line => !used.has(line));
}

const DIRECTIONS: readonly Direction[] = ['egress', 'ingress'];

const OUTSIDE: ReadonlySet<Member['kind']> = new Set(['network', 'domain']);

function isNetworkOf(family: Family) {
  const other = family === 'ip' ? 'ip6' : 'ip';
  return ({ ends, members }: MatrixLine) =>
    ends[family] !== undefined && ends[other] === undefined && OUTSIDE.has(members[0]!.kind);
}

/** Whether the line contains the addresses of a family that are in no network of a policy. */
function isInternet({ families }: Reach, { members }: MatrixLine, family: Family): boolean {
  const { largest } = families[family].ends.regions;
  return members.some(member => member.kind === 'network' && member.regions[family] === largest);
}

/** Without dual-stack pods there are no rows by which networks of both families could be compared. */
function networkKey(
  reach: Reach,
  { ends, members }: MatrixLine,
  family: Family,
  dual: readonly MatrixLine[],
): string {
  const { kind } = members[0]!;
  const end = ends[family]!;
  const others = dual.map(line => line.ends[family]!);
  const ids =
    kind === 'domain'
      ? others.map(other => cellOf(reach, { [family]: other }, { [family]: end })[family]!.id)
      : DIRECTIONS.map(direction => reach.families[family].connectionsOf(direction, end, others));
  return `${kind} ${dual.length === 0 ? family : ids}`;
}
