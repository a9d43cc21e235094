/**
 * Overlapping ranges as segments that do not:
 *
 *     a ├────────────┤
 *     b        ├──────────┤
 *       ├──a───┼─a,b─┼──b─┤
 */
import { getOrMake } from '../lib/collections/getormake.ts';
import type { PortRange } from './ports.ts';

interface Ranged {
  readonly ports: Pick<PortRange, 'first' | 'last'>;
}

export interface Segment<T> {
  readonly first: number;
  readonly last: number;
  /** The ranges that contain all of the segment, in the order in which they were given. */
  readonly covers: readonly T[];
}

/** The segments, sorted; neighbours that the same ranges cover are joined. Takes as long as `countSegments` says. */
export function* segmentsOf<T extends Ranged>(ranges: readonly T[]): Generator<Segment<T>> {
  const open = new Set<number>();
  for (const { first, last, opens, closes } of cuts(ranges)) {
    for (const index of closes) open.delete(index);
    for (const index of opens) open.add(index);
    if (open.size === 0) continue;
    yield { first, last, covers: [...open].sort((a, b) => a - b).map(index => ranges[index]!) };
  }
}

/** If segments and the ranges that cover them make more pairs than this, ranges are compared one by one. */
export const MOST_SEGMENTS = 10_000;

/** How many pairs of a segment and a range that covers it there are. */
export function countSegments(ranges: readonly Ranged[]): number {
  let [open, pairs] = [0, 0];
  for (const { opens, closes } of cuts(ranges)) {
    open += opens.length - closes.length;
    pairs += open;
  }
  return pairs;
}

interface Cut {
  readonly first: number;
  readonly last: number;
  /** The ranges that begin at `first`, and those that ended right before it. */
  readonly opens: readonly number[];
  readonly closes: readonly number[];
}

const LAST_PORT = 65_535;

function* cuts(ranges: readonly Ranged[]): Generator<Cut> {
  const opens = new Map<number, number[]>();
  const closes = new Map<number, number[]>();
  ranges.forEach(({ ports }, index) => {
    pushTo(opens, ports.first, index);
    pushTo(closes, ports.last + 1, index);
  });
  const places = [...new Set([...opens.keys(), ...closes.keys()])].sort((a, b) => a - b);
  for (const [at, first] of places.entries()) {
    const last = (places[at + 1] ?? LAST_PORT + 1) - 1;
    yield { first, last, opens: opens.get(first) ?? [], closes: closes.get(first) ?? [] };
  }
}

function pushTo(lists: Map<number, number[]>, at: number, index: number): void {
  getOrMake(lists, at, () => []).push(index);
}
