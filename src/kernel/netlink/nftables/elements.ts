/** NFTA_LIST_ELEMs of a set: what `addElements` and `delElements` are made of, a hundred thousand at a time. */
import { keyLength } from '../../../nft/fieldbytes.ts';
import {
  type ElementKey,
  type ElementValue,
  type FieldType,
  isMember,
  type SetSpec,
} from '../../../nft/ruleset.ts';
import { type AttributeWriter, align, attributeHeader, nestHeader } from '../wire/attributes.ts';
import { CATCHALL, DATA, ELEMENT, ELEMENT_F, LIST_ELEM, UDATA } from './constants.ts';
import { quadWord } from './fields.ts';
import { type IntervalBytes, intervalBytes } from './intervals.ts';
import { writeKey } from './keys.ts';
import { writeComment } from './userdata.ts';
import { writeVerdict } from './verdicts.ts';

const HEADER = 4;

/** No element of ours is longer: a key, a verdict with a chain's name, a comment. An interval takes two. */
export const MAX_ELEMENT = 1024;

/** What a plain IPv4 member takes. */
export const MEMBER_SIZE = 16;

/** Writes elements from `from` on until `to` has `full` bytes; answers where the next begins. */
export function writeElements(
  to: AttributeWriter,
  set: SetSpec,
  elements: readonly (readonly [ElementKey, ElementValue])[],
  from: number,
  full: number,
): number {
  const quads = isQuad(set.key) && !set.interval;
  let next = from;
  for (; next < elements.length && to.length < full; next++) {
    const [key, value] = elements[next]!;
    // Most of all elements there are.
    if (quads && isMember(value) && key !== CATCHALL) writeQuadMember(to, key);
    else writeElement(to, set, key, value);
  }
  return next;
}

/** Writes one element of `set`; to delete it, its key is all that the kernel wants. */
export function writeElement(
  to: AttributeWriter,
  set: SetSpec,
  key: ElementKey,
  value: ElementValue | undefined,
): void {
  if (key === CATCHALL) writeCatchAll(to, set, value);
  else if (set.interval) writeInterval(to, set, intervalBytes(onlyField(set), key), value);
  // Nearly all elements are plain members: their length is known before they are written.
  else if (value === undefined || isMember(value)) writeMember(to, set.key, key);
  else writeWithValue(to, set, key, value);
}

function writeWithValue(to: AttributeWriter, set: SetSpec, key: ElementKey, value: ElementValue): void {
  const length = keyLength(set.key);
  to.nest(LIST_ELEM, () => {
    to.reserve(2 * HEADER + align(length));
    writeReservedKey(to, set.key, length, key);
    writeValue(to, set, value);
  });
}

/** Somebody else's: we only ever delete it. */
function writeCatchAll(to: AttributeWriter, set: SetSpec, value: ElementValue | undefined): void {
  to.nest(LIST_ELEM, () => {
    to.u32(ELEMENT.FLAGS, ELEMENT_F.CATCHALL);
    if (value !== undefined) writeValue(to, set, value);
  });
}

function writeMember(to: AttributeWriter, fields: readonly FieldType[], key: ElementKey): void {
  if (isQuad(fields)) {
    writeQuadMember(to, key);
    return;
  }
  const length = keyLength(fields);
  to.reserve(3 * HEADER + align(length));
  to.word(nestHeader(LIST_ELEM, 2 * HEADER + align(length)));
  writeReservedKey(to, fields, length, key);
}

function isQuad(fields: readonly FieldType[]): boolean {
  return fields[0] === 'ipv4_addr' && fields.length === 1;
}

// Where the key has four bytes.
const QUAD_ELEMENT = nestHeader(LIST_ELEM, 12);
const QUAD_KEY = nestHeader(ELEMENT.KEY, 8);
const QUAD_VALUE = attributeHeader(DATA.VALUE, 4);

/** Four words, and nothing to be zeroed first. */
function writeQuadMember(to: AttributeWriter, key: ElementKey): void {
  to.words(QUAD_ELEMENT, QUAD_KEY, QUAD_VALUE, quadWord(key, 0, key.length));
}

function writeReservedKey(
  to: AttributeWriter,
  fields: readonly FieldType[],
  length: number,
  key: ElementKey,
): void {
  to.word(nestHeader(ELEMENT.KEY, HEADER + align(length)));
  to.word(attributeHeader(DATA.VALUE, length));
  writeKey(fields, key, to.buffer, to.zeros(align(length)));
}

function writeValue(to: AttributeWriter, set: SetSpec, { verdict, data, comment }: ElementValue): void {
  if (verdict !== undefined) writeVerdict(to, ELEMENT.DATA, verdict);
  if (data !== undefined) writeData(to, set, data);
  if (comment !== undefined) writeComment(to, ELEMENT.USERDATA, UDATA.ELEMENT_COMMENT, comment);
}

function writeData(to: AttributeWriter, { name, data: fields = [] }: SetSpec, text: ElementKey): void {
  if (fields.length === 0)
    throw new TypeError(`set ${name}: it is no map to data, and has an element with some`);
  to.nest(ELEMENT.DATA, () => {
    const at = to.blank(DATA.VALUE, keyLength(fields));
    writeKey(fields, text, to.buffer, at);
  });
}

/**
 * Always both ends, also to delete: an end that lost its start is invisible, and later elements that overlap it
 * are refused.
 */
function writeInterval(
  to: AttributeWriter,
  set: SetSpec,
  { first, end }: IntervalBytes,
  value: ElementValue | undefined,
): void {
  to.nest(LIST_ELEM, () => {
    writeBytes(to, first);
    if (value !== undefined) writeValue(to, set, value);
  });
  if (end === undefined) return;
  to.nest(LIST_ELEM, () => {
    writeBytes(to, end);
    to.u32(ELEMENT.FLAGS, ELEMENT_F.INTERVAL_END);
  });
}

function writeBytes(to: AttributeWriter, bytes: Uint8Array): void {
  to.nest(ELEMENT.KEY, () => {
    const at = to.blank(DATA.VALUE, bytes.length);
    to.buffer.set(bytes, at);
  });
}

function onlyField(set: SetSpec): FieldType {
  if (set.key.length !== 1) throw new TypeError(`set ${set.name}: an interval set has a key of one field`);
  return set.key[0]!;
}
