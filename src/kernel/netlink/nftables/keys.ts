/** The key of a set's elements, text <-> bytes: fields side by side, each padded to four bytes if there are several. */
import { paddedBytes } from '../../../nft/fieldbytes.ts';
import { MAX_KEY_FIELDS } from '../../../nft/limits.ts';
import type { ElementKey, FieldType } from '../../../nft/ruleset.ts';
import { readField, writeField } from './fields.ts';

const SEPARATOR = ' . ';

/** `nft describe`: the numbers that make `nft list` print a key as what it is. */
const TYPE_ID: Readonly<Record<FieldType, number>> = {
  ipv4_addr: 7,
  ipv6_addr: 8,
  ether_addr: 9,
  inet_proto: 12,
  inet_service: 13,
  iface_index: 20,
};

const FIELD_BY_ID = new Map(Object.entries(TYPE_ID).map(([type, id]) => [id, type as FieldType]));
const BITS_PER_TYPE = 6;

/** NFTA_SET_KEY_TYPE: of a concatenation, six bits for each field. */
export function keyType(key: readonly FieldType[]): number {
  if (key.length > MAX_KEY_FIELDS)
    throw new RangeError(`a key of ${key.length} fields: at most ${MAX_KEY_FIELDS}`);
  return key.reduce((id, type) => (id << BITS_PER_TYPE) | TYPE_ID[type], 0);
}

/** The fields of a key type; none if one of them is not ours. */
export function fieldsOfType(id: number): readonly FieldType[] {
  const fields: FieldType[] = [];
  for (let rest = id; rest > 0; rest >>>= BITS_PER_TYPE) {
    const field = FIELD_BY_ID.get(rest & ((1 << BITS_PER_TYPE) - 1));
    if (field === undefined) return [];
    fields.unshift(field);
  }
  return fields;
}

/** Into bytes that are zero. */
export function writeKey(key: readonly FieldType[], text: ElementKey, bytes: Uint8Array, at: number): void {
  if (key.length === 1) writeField(key[0]!, text, 0, text.length, bytes, at);
  else writeFields(key, text, bytes, at);
}

function writeFields(key: readonly FieldType[], text: ElementKey, bytes: Uint8Array, at: number): void {
  let start = 0;
  let to = at;
  for (let i = 0; i < key.length; i++) {
    const end = fieldEnd(text, start, i === key.length - 1);
    writeField(key[i]!, text, start, end, bytes, to);
    to += paddedBytes(key[i]!);
    start = end + SEPARATOR.length;
  }
}

function fieldEnd(text: string, start: number, last: boolean): number {
  const end = text.indexOf(SEPARATOR, start);
  if ((end === -1) !== last) throw new RangeError(`set element "${text}": wrong number of fields`);
  return last ? text.length : end;
}

export function readKey(key: readonly FieldType[], bytes: Uint8Array, at: number): ElementKey {
  if (key.length === 1) return readField(key[0]!, bytes, at);
  let from = at;
  let text = '';
  for (const type of key) {
    if (from > at) text += SEPARATOR;
    text += readField(type, bytes, from);
    from += paddedBytes(type);
  }
  return text;
}
