/**
 * The key of a set's elements, text <-> bytes: fields side by side, each padded to four bytes if there are several. These
 * run once per element of sets of a hundred thousand, so they read and write in place and make no objects.
 */

import { assertNever } from '../../../lib/text/assert.ts';
import { macBytes, macText } from '../../../model/mac.ts';
import { paddedBytes } from '../../../nft/fieldbytes.ts';
import { KEY_PROTOCOL_OF_NUMBER, NUMBER_OF_KEY_PROTOCOL } from '../../../nft/keyprotocols.ts';
import { MAX_KEY_FIELDS } from '../../../nft/limits.ts';
import type { ElementKey, FieldType } from '../../../nft/ruleset.ts';

const SEPARATOR = ' . ';

/** `nft describe`: the type numbers by which `nft list` prints a key in its own form. */
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

const DOT = 46;
const COLON = 58;

/** Writes the field that is in `text` from `start` up to `end`. */
export function writeField(
  type: FieldType,
  text: string,
  start: number,
  end: number,
  bytes: Uint8Array,
  at: number,
): void {
  switch (type) {
    case 'ipv4_addr':
      writeQuad(text, start, end, bytes, at);
      break;
    case 'ipv6_addr':
      writeGroups(text, start, end, bytes, at);
      break;
    case 'ether_addr':
      bytes.set(macBytes(text.slice(start, end)), at);
      break;
    case 'inet_proto':
      bytes[at] = protocolNumber(text.slice(start, end));
      break;
    case 'inet_service': {
      const port = decimal(text, start, end, 0xffff);
      bytes[at] = port >> 8;
      bytes[at + 1] = port & 0xff;
      break;
    }
    case 'iface_index': {
      const index = decimal(text, start, end, 0x7fffffff);
      for (let i = 0; i < 4; i++) bytes[at + i] = index >>> (8 * i); // in the order of the machine
      break;
    }
    default:
      assertNever(type);
  }
}

export function readField(type: FieldType, bytes: Uint8Array, at: number): string {
  switch (type) {
    case 'ipv4_addr':
      return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
    case 'ipv6_addr':
      return groupsText(bytes, at);
    case 'ether_addr':
      return macText(bytes, at);
    case 'inet_proto':
      return KEY_PROTOCOL_OF_NUMBER.get(bytes[at]!) ?? String(bytes[at]);
    case 'inet_service':
      return String((bytes[at]! << 8) | bytes[at + 1]!);
    case 'iface_index':
      return String(bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    default:
      return assertNever(type);
  }
}

/** The bytes of an IPv4 address in network order, as a little-endian word. */
export function quadWord(text: string, start: number, end: number): number {
  let word = 0;
  let shift = 0;
  let octet = 0;
  let digits = 0;
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit >= 0 && digit <= 9) {
      octet = octet * 10 + digit;
      digits++;
    } else {
      if (digit !== DOT - 48 || digits === 0 || octet > 255 || shift === 24) throw notA('ipv4_addr', text);
      word |= octet << shift;
      shift += 8;
      octet = 0;
      digits = 0;
    }
  }
  if (digits === 0 || octet > 255 || shift !== 24) throw notA('ipv4_addr', text);
  return word | (octet << 24);
}

function writeQuad(text: string, start: number, end: number, bytes: Uint8Array, at: number): void {
  const word = quadWord(text, start, end);
  for (let i = 0; i < 4; i++) bytes[at + i] = word >>> (8 * i);
}

/** RFC 5952 text: groups of hexadecimal digits, one run of zero groups left out as `::`. */
function writeGroups(text: string, start: number, end: number, bytes: Uint8Array, at: number): void {
  let written = 0;
  let gap = -1;
  for (let i = start; i < end; ) {
    if (text.charCodeAt(i) === COLON && text.charCodeAt(i + 1) === COLON && gap < 0) {
      gap = written;
      i += 2;
      continue;
    }
    let group = 0;
    const first = i;
    for (; i < end && text.charCodeAt(i) !== COLON; i++) group = group * 16 + hexDigit(text, i);
    if (i === first || i - first > 4 || written > 14) throw notA('ipv6_addr', text);
    bytes[at + written] = group >> 8;
    bytes[at + written + 1] = group & 0xff;
    written += 2;
    // One colon between groups; a second one is the gap, and the next turn reads both.
    if (i < end && text.charCodeAt(i + 1) !== COLON) i++;
  }
  if (gap < 0 ? written !== 16 : written > 14) throw notA('ipv6_addr', text);
  if (gap >= 0) openGap(bytes, at, gap, written);
}

/** Moves the bytes after the gap to the end, and zeros the gap. */
function openGap(bytes: Uint8Array, at: number, gap: number, written: number): void {
  const end = at + 16;
  bytes.copyWithin(end - (written - gap), at + gap, at + written);
  bytes.fill(0, at + gap, end - (written - gap));
}

function hexDigit(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 102) return code - 87;
  throw notA('ipv6_addr', text);
}

/** RFC 5952: the longest run of at least two zero groups, the first of several, becomes `::`. */
function groupsText(bytes: Uint8Array, at: number): string {
  const { from, length } = longestZeros(bytes, at);
  let text = '';
  for (let group = 0; group < 8; group++) {
    if (group === from) {
      text += '::';
      group += length - 1;
    } else {
      if (group > 0 && group !== from + length) text += ':';
      text += ((bytes[at + 2 * group]! << 8) | bytes[at + 2 * group + 1]!).toString(16);
    }
  }
  return text;
}

function longestZeros(bytes: Uint8Array, at: number): { from: number; length: number } {
  let best = { from: -1, length: 1 };
  for (let from = 0; from < 8; from++) {
    let length = 0;
    while (
      from + length < 8 &&
      bytes[at + 2 * (from + length)] === 0 &&
      bytes[at + 2 * (from + length) + 1] === 0
    )
      length++;
    if (length > best.length) best = { from, length };
    from += length;
  }
  return best;
}

function protocolNumber(text: string): number {
  return NUMBER_OF_KEY_PROTOCOL.get(text) ?? decimal(text, 0, text.length, 255);
}

function decimal(text: string, start: number, end: number, max: number): number {
  let value = start < end ? 0 : Number.NaN;
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - 48;
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN;
  }
  if (!(value <= max)) throw new RangeError(`set element "${text}": not a number up to ${max}`);
  return value;
}

function notA(type: FieldType, text: string): RangeError {
  return new RangeError(`set element "${text}": not a canonical ${type}`);
}
