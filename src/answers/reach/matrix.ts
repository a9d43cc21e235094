/** Who reaches whom: places of equal rows and equal columns are one line of the matrix. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Family } from '../../model/address.ts';
import { domainPlaces } from './domains.ts';
import { type Cell, cellKey, cellOf, type Ends, type Member, type ReachPlace } from './place.ts';
import { joined, reachPlaces } from './places.ts';
import type { Reach } from './reach.ts';
import { textOfWords } from './words.ts';

export interface MatrixLine {
  /** Any of its places stands for all. */
  readonly ends: Ends;
  readonly members: readonly Member[];
}

export interface Matrix {
  readonly lines: readonly MatrixLine[];
  cell(from: MatrixLine, to: MatrixLine): Cell;
}

/** `extra` are places of pods that are not there. */
export function matrixOf(reach: Reach, extra: readonly ReachPlace[] = []): Matrix {
  const places = joined([...reachPlaces(reach), ...domainPlaces(reach), ...extra]);
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

/** Of each place its row and its column; that of no other is the same. */
function vectorTexts(reach: Reach, places: readonly ReachPlace[]): string[] {
  const known = new Map<number, number>();
  const rows = places.map(from =>
    Uint32Array.from(places, to => {
      const key = cellKey(reach, from.ends, to.ends);
      return getOrMake(known, key, () => known.size);
    }),
  );
  return places.map(
    (_, i) => `${textOfWords(rows[i]!)}/${textOfWords(Uint32Array.from(rows, row => row[i]!))}`,
  );
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

const OUTSIDE: ReadonlySet<Member['kind']> = new Set(['network', 'domain']);

function isNetworkOf(family: Family) {
  const other = family === 'ip' ? 'ip6' : 'ip';
  return ({ ends, members }: MatrixLine) =>
    ends[family] !== undefined && ends[other] === undefined && OUTSIDE.has(members[0]!.kind);
}

/** Whether it holds what is left of a family once all networks of policies are taken from it. */
function isInternet({ families }: Reach, { members }: MatrixLine, family: Family): boolean {
  const { largest } = families[family].ends.regions;
  return members.some(member => member.kind === 'network' && member.regions[family] === largest);
}

/** Without dual-stack pods there is nothing to compare by. */
function networkKey(
  reach: Reach,
  { ends, members }: MatrixLine,
  family: Family,
  dual: readonly MatrixLine[],
): string {
  const between = (from: Ends, to: Ends) =>
    cellOf(reach, { [family]: from[family]! }, { [family]: to[family]! })[family]!.id;
  const ids = dual.map(line => [between(ends, line.ends), between(line.ends, ends)]);
  return `${members[0]!.kind} ${ids.length === 0 ? family : ids}`;
}
