/** The elements of an interval set as ranges of integers. */
import { addressToInt, cidrRange, parseAddress, parseCidr } from '../model/address.ts';
import { PROTOCOL_NUMBER } from '../model/ipprotocol.ts';
import type { ElementKey, FieldType, NftSet } from './ruleset.ts';

/** A range that includes both of its ends. */
export interface Interval {
  readonly key: ElementKey;
  readonly first: bigint;
  readonly last: bigint;
}

/** All elements of a set, sorted by their first values. */
export function intervals({ key: fields, elements }: Pick<NftSet, 'key' | 'elements'>): Interval[] {
  return [...elements.keys()].map(key => parseInterval(fields[0]!, key)).sort(byFirst);
}

function byFirst(a: Interval, b: Interval): number {
  return a.first < b.first ? -1 : a.first > b.first ? 1 : 0;
}

/** `10.0.0.0/8`, `10.0.0.0-10.0.0.9`, `80`, `80-90`. */
export function parseInterval(type: FieldType, key: ElementKey): Interval {
  const cidr = parseCidr(key);
  if (cidr !== undefined) return { key, ...cidrRange(cidr) };
  const [first = '', last = first] = key.split('-');
  return { key, first: fieldValue(type, first), last: fieldValue(type, last) };
}

function fieldValue(type: FieldType, text: string): bigint {
  switch (type) {
    case 'ipv4_addr':
    case 'ipv6_addr': {
      const address = parseAddress(text);
      if (address === undefined) throw new RangeError(`set element "${text}" is not an address`);
      return addressToInt(address);
    }
    case 'ether_addr':
      return BigInt(`0x${text.replaceAll(':', '')}`);
    case 'inet_proto':
      return BigInt(PROTOCOL_NUMBER[text as keyof typeof PROTOCOL_NUMBER] ?? text);
    case 'inet_service':
    case 'iface_index':
      return BigInt(text);
  }
}

/** How many intervals of a sorted list begin at or before `value`. */
export function countUpTo(sorted: readonly Interval[], value: bigint): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.first <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
