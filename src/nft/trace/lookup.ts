/** Finds the element of a set whose key has the bytes in the registers. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { type Address, addressBytes, addressFromBytes } from '../../model/address.ts';
import { macBytes, macText } from '../../model/mac.ts';
import { FIELD_BYTES, keyLength, paddedBytes } from '../fieldbytes.ts';
import { countUpTo, type Interval, intervals } from '../interval.ts';
import { KEY_PROTOCOL_OF_NUMBER, NUMBER_OF_KEY_PROTOCOL } from '../keyprotocols.ts';
import type { ElementKey, ElementValue, FieldType, NftSet } from '../ruleset.ts';

/** The bytes that registers have for a text of these fields. */
export function fieldsBytes(fields: readonly FieldType[], text: ElementKey): Uint8Array {
  const bytes = new Uint8Array(keyLength(fields));
  const texts = fields.length === 1 ? [text] : text.split(' . ');
  let at = 0;
  for (const [i, type] of fields.entries()) {
    bytes.set(fieldBytes(type, texts[i]!), at);
    at += paddedBytes(type);
  }
  return bytes;
}

function fieldBytes(type: FieldType, text: string): ArrayLike<number> {
  const number = NUMBER_OF_KEY_PROTOCOL.get(text) ?? Number(text);
  switch (type) {
    case 'ipv4_addr':
    case 'ipv6_addr':
      return addressBytes(text as Address);
    case 'ether_addr':
      return macBytes(text);
    case 'inet_proto':
      return [number];
    case 'inet_service':
      return [number >> 8, number & 0xff];
    case 'iface_index':
      return [number & 0xff, (number >> 8) & 0xff, (number >> 16) & 0xff, number >>> 24];
  }
}

/** `bytes` has the length of the set's key. */
export function findElement(set: NftSet, bytes: Uint8Array): readonly [ElementKey, ElementValue] | undefined {
  const key = set.interval ? coveringKey(set, bytes) : keyText(set.key, bytes);
  const value = key === undefined ? undefined : set.elements.get(key);
  return value && [key!, value];
}

/** The canonical text of a key; undefined if its padding is not zero, because no element has such a key. */
function keyText(fields: readonly FieldType[], bytes: Uint8Array): ElementKey | undefined {
  if (fields.length === 1) return fieldText(fields[0]!, bytes);
  const texts: string[] = [];
  let at = 0;
  for (const type of fields) {
    const end = at + FIELD_BYTES[type];
    const next = at + paddedBytes(type);
    if (bytes.subarray(end, next).some(byte => byte !== 0)) return undefined;
    texts.push(fieldText(type, bytes.subarray(at, end)));
    at = next;
  }
  return texts.join(' . ');
}

function fieldText(type: FieldType, bytes: Uint8Array): string {
  switch (type) {
    case 'ipv4_addr':
    case 'ipv6_addr':
      return addressFromBytes(bytes);
    case 'ether_addr':
      return macText(bytes);
    case 'inet_proto':
      return KEY_PROTOCOL_OF_NUMBER.get(bytes[0]!) ?? String(bytes[0]);
    case 'inet_service':
      return String((bytes[0]! << 8) | bytes[1]!);
    case 'iface_index':
      return String(bytes[0]! | (bytes[1]! << 8) | (bytes[2]! << 16) | (bytes[3]! << 24));
  }
}

/** Intervals sorted by their first value. Computed once for each set, because sets are never changed in place. */
const SORTED = new WeakMap<NftSet, readonly Interval[]>();

function sortedIntervals(set: NftSet): readonly Interval[] {
  return getOrMake(SORTED, set, () => intervals(set));
}

function coveringKey(set: NftSet, bytes: Uint8Array): ElementKey | undefined {
  const sorted = sortedIntervals(set);
  const value = numberOf(bytes);
  const candidate = sorted[countUpTo(sorted, value) - 1];
  return candidate !== undefined && value <= candidate.last ? candidate.key : undefined;
}

function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
