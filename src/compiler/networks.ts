/** Networks with holes, as disjoint ranges: what an interval set can hold. */
import {
  type AddressRange,
  addressBits,
  addressFromInt,
  cidrRange,
  cidrText,
  networkOf,
} from '../model/address.ts';
import type { Peer } from '../model/policy.ts';

export type NetworkPeer = Extract<Peer, { kind: 'network' }>;

/** The union of the peers, each without its exceptions (N20), as ranges in order that neither meet nor touch. */
export function rangesOf(peers: readonly NetworkPeer[]): AddressRange[] {
  return merge(peers.flatMap(({ cidr, except }) => except.map(cidrRange).reduce(cut, [cidrRange(cidr)])));
}

function cut(ranges: AddressRange[], hole: AddressRange): AddressRange[] {
  return ranges.flatMap(range =>
    [
      { ...range, last: min(range.last, hole.first - 1n) },
      { ...range, first: max(range.first, hole.last + 1n) },
    ].filter(({ first, last }) => first <= last),
  );
}

function merge(ranges: AddressRange[]): AddressRange[] {
  const merged: AddressRange[] = [];
  for (const range of ranges.sort((a, b) => (a.first < b.first ? -1 : 1))) {
    const before = merged.at(-1);
    if (before === undefined || range.first > before.last + 1n) merged.push(range);
    else merged[merged.length - 1] = { ...before, last: max(before.last, range.last) };
  }
  return merged;
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
