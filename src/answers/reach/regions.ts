/**
 * The addresses of a family, cut where the networks of policies begin and end:
 *
 *     10.0.0.0/8        ├─────────────────────────────┤
 *     10.1.0.0/16            ├──────────┤
 *     regions        0  │ 1  │     2    │      1      │  0
 *
 * A region is all addresses that the same networks hold, so policy cannot tell them apart.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import {
  type Address,
  addressBits,
  addressToInt,
  type Cidr,
  cidrRange,
  type Family,
} from '../../model/address.ts';
import { Bits } from './bits.ts';

export interface Region {
  /** The networks that contain the region, by their index in the list of all. */
  readonly networks: Bits;
  readonly addresses: readonly Range<bigint>[];
}

export interface Regions {
  readonly all: readonly Region[];
  /** The index of the one with the most addresses. */
  readonly largest: number;
  /** The index of the region that holds an address; remembered, as the same ones are asked for again. */
  at(address: Address): number;
}

/** The addresses of one network of a policy; none of another family. */
export function networkAddresses(family: Family, cidrs: readonly Cidr[], except: readonly Cidr[] = []) {
  return combine(cidrToggles(family, cidrs), cidrToggles(family, except), DIFFERENCE);
}

function cidrToggles(family: Family, cidrs: readonly Cidr[]): Toggles<bigint> {
  return togglesOf(cidrs.filter(cidr => cidr.family === family).map(cidrRange), 1n);
}

export function regionsOf(family: Family, networks: readonly Toggles<bigint>[]): Regions {
  const end = 1n << BigInt(addressBits(family));
  const starts: bigint[] = [];
  const indexes: number[] = [];
  const found: { networks: Bits; addresses: Range<bigint>[] }[] = [];
  const byKey = new Map<string, number>();
  const current = new Bits(networks.length);
  const places = placesOf(networks);
  const cuts = [...new Set([0n, ...places.keys()])].filter(at => at < end).sort(compare);
  for (const [i, first] of cuts.entries()) {
    for (const network of places.get(first) ?? []) current.flip(network);
    const key = current.key();
    const index = byKey.get(key) ?? found.length;
    if (index === found.length) {
      byKey.set(key, index);
      found.push({ networks: new Bits(networks.length).or(current), addresses: [] });
    }
    found[index]!.addresses.push({ first, last: (cuts[i + 1] ?? end) - 1n });
    starts.push(first);
    indexes.push(index);
  }
  const known = new Map<Address, number>();
  return {
    all: found,
    largest: largestOf(found),
    at: address => getOrMake(known, address, () => indexes[lastNotAfter(starts, addressToInt(address))]!),
  };
}

/** For each address at which a network begins or ends: these networks. */
function placesOf(networks: readonly Toggles<bigint>[]): Map<bigint, number[]> {
  const places = new Map<bigint, number[]>();
  for (const [network, toggles] of networks.entries()) {
    for (const at of toggles) {
      getOrMake(places, at, () => []).push(network);
    }
  }
  return places;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The first start is 0. */
function lastNotAfter(starts: readonly bigint[], address: bigint): number {
  let [low, high] = [0, starts.length];
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= address) low = middle;
    else high = middle;
  }
  return low;
}

function largestOf(regions: readonly Region[]): number {
  const sizes = regions.map(addressCount);
  return sizes.reduce((best, size, i) => (size > sizes[best]! ? i : best), 0);
}

export function addressCount({ addresses }: Region): bigint {
  return addresses.reduce((sum, { first, last }) => sum + last - first + 1n, 0n);
}

/**
 * Sets of numbers as the places where membership changes, in order: `[80, 81, 443, 500]` holds 80 and 443 to 499. One
 * sweep does every operation, for ports and protocols (numbers) and for addresses (bigints) alike.
 */

export type Toggles<N extends number | bigint = number> = readonly N[];

/**
 * Whether the result of combining two sets keeps a place, by whether the place is in `a` and in `b`; must be false for
 * a place that is in neither.
 */
type Keeps = (inA: boolean, inB: boolean) => boolean;

export const UNION: Keeps = (inA, inB) => inA || inB;
export const INTERSECTION: Keeps = (inA, inB) => inA && inB;
export const DIFFERENCE: Keeps = (inA, inB) => inA && !inB;

export function combine<N extends number | bigint>(a: Toggles<N>, b: Toggles<N>, keeps: Keeps): Toggles<N> {
  const result: N[] = [];
  let [i, j, inside] = [0, 0, false];
  while (i < a.length || j < b.length) {
    const at = j >= b.length || (i < a.length && a[i]! <= b[j]!) ? a[i]! : b[j]!;
    if (a[i] === at) i++;
    if (b[j] === at) j++;
    // After an odd number of toggles the place is inside.
    const holds = keeps(i % 2 === 1, j % 2 === 1);
    if (holds !== inside) result.push(at);
    inside = holds;
  }
  return result;
}

export interface Range<N> {
  readonly first: N;
  readonly last: N;
}

/** Ranges may be in any order and overlap; one that ends before it starts is empty. */
export function togglesOf<N extends number | bigint>(ranges: readonly Range<N>[], one: N): Toggles<N> {
  const sorted = ranges.filter(({ first, last }) => first <= last).sort(byFirst);
  const result: N[] = [];
  for (const { first, last } of sorted) {
    const end = plus(last, one);
    const before = result.at(-1);
    if (before === undefined || first > before) result.push(first, end);
    else if (end > before) result[result.length - 1] = end;
  }
  return result;
}

function byFirst<N extends number | bigint>(a: Range<N>, b: Range<N>): number {
  return a.first < b.first ? -1 : a.first > b.first ? 1 : 0;
}

/** Ranges include their first and their last address. */
export function toggleRanges<N extends number | bigint>(toggles: Toggles<N>, one: N): Range<N>[] {
  const ranges: Range<N>[] = [];
  for (let i = 0; i + 1 < toggles.length; i += 2)
    ranges.push({ first: toggles[i]!, last: plus(toggles[i + 1]!, -one as N) });
  return ranges;
}

function plus<N extends number | bigint>(a: N, b: N): N {
  return ((a as number) + (b as number)) as N;
}
