/** Who reaches whom: places of equal rows and equal columns are one line of the matrix. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { pushAll } from '../../lib/collections/pushall.ts';
import type { Family } from '../../model/address.ts';
import type { Direction } from '../../model/policy.ts';
import { textOfWords } from './bits.ts';
import { domainPlaces } from './domains.ts';
import {
  type Cell,
  cellKeysTo,
  cellOf,
  type DomainMember,
  type Ends,
  joined,
  type Member,
  type ReachPlace,
} from './places.ts';
import type { Reach } from './reach.ts';
import { cellInAll, endsIn, type World } from './worlds.ts';

export interface MatrixLine {
  /** In each world the ends of any of its places, which represents all of them. */
  readonly ends: readonly Ends[];
  readonly members: readonly Member[];
}

export interface Matrix {
  readonly lines: readonly MatrixLine[];
  cell(from: MatrixLine, to: MatrixLine): Cell;
}

/** `own` are the places that exist, in the first world. */
export function matrixOf(worlds: readonly World[], own: readonly ReachPlace[]): Matrix {
  const [{ reach }] = worlds as [World];
  const places = joined([...own, ...domainsOf(worlds, own)]).map(({ ends, members }) => {
    return { ends: worlds.map((world, w) => (w === 0 ? ends : endsIn(world, members))), members };
  });
  const texts = worlds.map((world, w) =>
    vectorTexts(
      world.reach,
      places.map(({ ends }) => ends[w]!),
    ),
  );
  const lines = new Map<string, { ends: readonly Ends[]; members: Member[] }>();
  for (const [i, { ends, members }] of places.entries()) {
    const key = `${kindOf(members)}${texts.map(text => text[i])}`;
    const own = getOrMake(lines, key, () => ({ ends, members: [] })).members;
    pushAll(own, members);
  }
  return {
    lines: pairedNetworks(worlds, [...lines.values()]),
    cell: (from, to) =>
      cellInAll(
        worlds.map((world, w) => cellOf(world.reach, from.ends[w]!, to.ends[w]!)),
        reach.pool,
      ),
  };
}

/** Worlds may tell other networks behind a name apart, so each is a place of its own where there are several. */
function domainsOf(worlds: readonly World[], own: readonly ReachPlace[]): ReachPlace[] {
  const all = worlds.flatMap(world =>
    domainPlaces(
      world.reach,
      own.map(place => ({ ...place, ends: endsIn(world, place.members) })),
    ),
  );
  if (worlds.length === 1) return all;
  const parts = all.flatMap(({ members }) =>
    members.flatMap(member => (member.kind === 'domain' ? parted(member) : [])),
  );
  const once = new Map(parts.map(part => [JSON.stringify(part), part]));
  return [...once.values()].map(part => ({ ends: endsIn(worlds[0]!, [part]), members: [part] }));
}

function parted({ kind, nameClass, regions }: DomainMember): DomainMember[] {
  return (Object.entries(regions) as [Family, readonly number[]][]).flatMap(([family, some]) =>
    some.map(region => ({ kind, nameClass, regions: { [family]: [region] } })),
  );
}

/** Pods, nodes, networks and names stay apart even where policy treats them alike. */
function kindOf([member]: readonly Member[]): Member['kind'] {
  return member!.kind === 'imagined' ? 'pod' : member!.kind;
}

/** A key of the row and the column of each place; equal keys mean equal places. */
function vectorTexts(reach: Reach, ends: readonly Ends[]): string[] {
  const known = new Map<number, number>();
  const columns = ends.map(() => new Uint32Array(ends.length));
  const keysOf = cellKeysTo(reach, ends);
  const rows = ends.map((from, i) => {
    const row = new Uint32Array(ends.length);
    const keys = keysOf(from);
    for (let j = 0; j < keys.length; j++)
      row[j] = columns[j]![i] = getOrMake(known, keys[j]!, () => known.size);
    return textOfWords(row);
  });
  return rows.map((row, i) => `${row}/${textOfWords(columns[i]!)}`);
}

/**
 * What is left of the addresses of each family is the internet, as one line; so are a network of IPv4 and one of IPv6
 * that dual-stack pods cannot tell apart, and names at two such networks.
 */
function pairedNetworks(worlds: readonly World[], lines: readonly MatrixLine[]): MatrixLine[] {
  const [{ reach }] = worlds as [World];
  const dual = lines.filter(
    ({ ends: [ends], members }) =>
      ends!.ip !== undefined && ends!.ip6 !== undefined && members[0]!.kind !== 'domain',
  );
  const keyOf = (line: MatrixLine, family: Family) =>
    isInternet(reach, line, family)
      ? 'internet'
      : String(worlds.map((world, w) => networkKey(world.reach, w, line, family, dual)));
  const v6 = new Map(lines.filter(isNetworkOf('ip6')).map(line => [keyOf(line, 'ip6'), line]));
  const used = new Set<MatrixLine>();
  const paired = lines.map(line => {
    const other = isNetworkOf('ip')(line) ? v6.get(keyOf(line, 'ip')) : undefined;
    if (other === undefined || used.has(other)) return line;
    used.add(other);
    const ends = line.ends.map((each, w) => ({ ...each, ...other.ends[w]! }));
    return { ends, members: [...line.members, ...other.members] };
  });
  return paired.filter(line => !used.has(line));
}

const DIRECTIONS: readonly Direction[] = ['egress', 'ingress'];

const OUTSIDE: ReadonlySet<Member['kind']> = new Set(['network', 'domain']);

function isNetworkOf(family: Family) {
  const other = family === 'ip' ? 'ip6' : 'ip';
  return ({ ends: [ends], members }: MatrixLine) =>
    ends![family] !== undefined && ends![other] === undefined && OUTSIDE.has(members[0]!.kind);
}

/** Whether the line contains the addresses of a family that are in no network of a policy. */
function isInternet({ families }: Reach, { members }: MatrixLine, family: Family): boolean {
  const { largest } = families[family].ends.regions;
  return members.some(member => member.kind === 'network' && member.regions[family] === largest);
}

/** Without dual-stack pods there are no rows by which networks of both families could be compared. */
function networkKey(
  reach: Reach,
  w: number,
  { ends, members }: MatrixLine,
  family: Family,
  dual: readonly MatrixLine[],
): string {
  const { kind } = members[0]!;
  const end = ends[w]![family]!;
  const others = dual.map(line => line.ends[w]![family]!);
  const ids =
    kind === 'domain'
      ? others.map(other => cellOf(reach, { [family]: other }, { [family]: end })[family]!.id)
      : DIRECTIONS.map(direction => reach.families[family].connectionsOf(direction, end, others));
  return `${kind} ${dual.length === 0 ? family : ids}`;
}
