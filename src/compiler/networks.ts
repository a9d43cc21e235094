/** Networks with exceptions, as the disjoint ranges of an interval set. */

import {
  type AddressRange,
  addressBits,
  addressFromInt,
  cidrRange,
  cidrText,
  networkOf,
} from '../model/address.ts';
import type { NetworkPeer } from '../model/policy.ts';
import { mergeRanges } from '../model/ranges.ts';

/** The union of the peers, each without its exceptions (N20), as sorted ranges that neither overlap nor touch. */
export function peerRanges(peers: readonly Pick<NetworkPeer, 'cidr' | 'except'>[]): AddressRange[] {
  return mergeRanges(peers.flatMap(withoutExceptions));
}

/** Walks the sorted exceptions once; the gaps between them are the result. */
function withoutExceptions({ cidr, except }: Pick<NetworkPeer, 'cidr' | 'except'>): AddressRange[] {
  const { family, first, last } = cidrRange(cidr);
  if (except.length === 0) return [{ family, first, last }];
  const left: AddressRange[] = [];
  let next = first;
  for (const hole of mergeRanges(except.filter(hole => hole.family === family).map(cidrRange))) {
    if (hole.first > next) left.push({ family, first: next, last: min(last, hole.first - 1n) });
    next = max(next, hole.last + 1n);
    if (next > last) return left;
  }
  return [...left, { family, first: next, last }];
}

/** Whether one of these ranges, as made by `peerRanges` from peers of one family, contains the address. */
export function rangesContain(ranges: readonly AddressRange[], address: bigint): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle]!.last < address) low = middle + 1;
    else high = middle;
  }
  return low < ranges.length && ranges[low]!.first <= address;
}

/** `10.0.0.0/8` where the range is a network, else `10.0.0.0-10.0.0.9`. */
export function rangeText({ family, first, last }: AddressRange): string {
  const base = addressFromInt(family, first);
  const prefix = addressBits(family) - bitLength(last - first);
  const network = networkOf(base, prefix);
  const same = network.base === base && cidrRange(network).last === last;
  return same ? cidrText(network) : `${base}-${addressFromInt(family, last)}`;
}

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}

const min = (a: bigint, b: bigint) => (a < b ? a : b);
const max = (a: bigint, b: bigint) => (a > b ? a : b);
