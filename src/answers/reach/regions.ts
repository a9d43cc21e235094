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
import { combine, DIFFERENCE, type Range, type Toggles, togglesOf } from './toggles.ts';

export interface Region {
  /** By their place in the list that the regions were made of. */
  readonly networks: Bits;
  readonly addresses: readonly Range<bigint>[];
}

export interface Regions {
  readonly all: readonly Region[];
  /** The index of the one with the most addresses. */
  readonly largest: number;
  /** The index of the region that holds an address. */
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
  return {
    all: found,
    largest: largestOf(found),
    at: address => indexes[lastNotAfter(starts, addressToInt(address))]!,
  };
}

/** At which addresses the membership in which networks changes. */
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
