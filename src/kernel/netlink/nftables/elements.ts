/** NFTA_LIST_ELEMs of a set, written and read: a hundred thousand at a time, so without objects for each. */
import { FIELD_BYTES, keyLength } from '../../../nft/fieldbytes.ts';
import { valuesEqual } from '../../../nft/plan/equal.ts';
import {
  type ElementKey,
  type Elements,
  type ElementValue,
  type FieldType,
  isMember,
  MEMBER,
  type NftSet,
  type SetSpec,
} from '../../../nft/ruleset.ts';
import { type AttributeWriter, align, attributeHeader, nestHeader, type Span } from '../wire/attributes.ts';
import { CATCHALL, DATA, ELEMENT, ELEMENT_F, LIST_ELEM, UDATA } from './constants.ts';
import { quadWord, readField, readKey, writeField, writeKey } from './keys.ts';
import { readVerdict, writeVerdict } from './statements.ts';
import { readComment, writeComment } from './userdata.ts';

const HEADER = 4;

/** No element of ours is longer: a key, a verdict with a chain's name, a comment. An interval takes two. */
export const MAX_ELEMENT = 1024;

/** Bytes of a plain IPv4 member. */
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
    // A faster path for most elements.
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

/** The catch-all element of a foreign set: we only ever delete it. */
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

// The header of an element whose key has four bytes.
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
 * Always writes start and end, also to delete: an end without its start is invisible, and later elements that overlap
 * it are refused.
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

/**
 * Elements of an interval set: the kernel has two for each, its first value and, flagged INTERVAL_END, the value after
 * its last. An interval that reaches to the end of all values has no second one.
 */
export interface IntervalBytes {
  readonly first: Uint8Array;
  /** The key after the last value; undefined if the last value is the greatest key. */
  readonly end: Uint8Array | undefined;
}

/** `10.0.0.0/8`, `10.0.0.0-10.0.0.9`, `80`, `80-90`. */
export function intervalBytes(type: FieldType, text: ElementKey): IntervalBytes {
  const slash = text.indexOf('/');
  const dash = text.indexOf('-');
  const first = fieldBytes(
    type,
    slash !== -1 ? text.slice(0, slash) : dash !== -1 ? text.slice(0, dash) : text,
  );
  if (slash !== -1) return { first, end: after(lastOfNetwork(first, Number(text.slice(slash + 1)), text)) };
  const last = dash === -1 ? first : fieldBytes(type, text.slice(dash + 1));
  if (Buffer.compare(first, last) > 0) throw new RangeError(`set element "${text}": the range is empty`);
  return { first, end: after(last) };
}

/** The canonical text: of addresses a network wherever the interval is one, of ports and protocols never. */
export function intervalText(type: FieldType, { first, end }: IntervalBytes): ElementKey {
  const last = before(end ?? new Uint8Array(first.length));
  const prefix = type === 'ipv4_addr' || type === 'ipv6_addr' ? networkPrefix(first, last) : undefined;
  if (prefix !== undefined) return `${readField(type, first, 0)}/${prefix}`;
  const single = Buffer.compare(first, last) === 0;
  return single ? readField(type, first, 0) : `${readField(type, first, 0)}-${readField(type, last, 0)}`;
}

function fieldBytes(type: FieldType, text: string): Uint8Array {
  const bytes = new Uint8Array(FIELD_BYTES[type]);
  writeField(type, text, 0, text.length, bytes, 0);
  return bytes;
}

function lastOfNetwork(first: Uint8Array, prefix: number, text: string): Uint8Array {
  if (!(prefix >= 0 && prefix <= first.length * 8))
    throw new RangeError(`set element "${text}": no such prefix`);
  return first.map((byte, i) => byte | (0xff >> clamp(prefix - 8 * i)));
}

/** Undefined where the interval is not all of one network. */
function networkPrefix(first: Uint8Array, last: Uint8Array): number | undefined {
  const bits = first.length * 8;
  let prefix = 0;
  while (prefix < bits && bit(first, prefix) === bit(last, prefix)) prefix++;
  for (let i = prefix; i < bits; i++) if (bit(first, i) === 1 || bit(last, i) === 0) return undefined;
  return prefix;
}

function bit(bytes: Uint8Array, index: number): number {
  return (bytes[index >> 3]! >> (7 - (index & 7))) & 1;
}

function clamp(bits: number): number {
  return Math.min(8, Math.max(0, bits));
}

function after(value: Uint8Array): Uint8Array | undefined {
  const next = Uint8Array.from(value);
  for (let i = next.length - 1; i >= 0; i--) {
    next[i]!++;
    if (next[i] !== 0) return next; // no carry
  }
  return undefined;
}

function before(value: Uint8Array): Uint8Array {
  const previous = Uint8Array.from(value);
  for (let i = previous.length - 1; i >= 0; i--) {
    previous[i]!--;
    if (previous[i] !== 0xff) return previous; // no borrow
  }
  return previous; // all ones: the greatest value, which has none after it
}

/** One of the two elements that the kernel holds for an interval. */
interface Bound {
  readonly at: Uint8Array;
  readonly ends: boolean;
  readonly value: ElementValue;
}

const TYPE_MASK = 0x3fff;

/**
 * Gathers the elements of one set from the messages that carry them. Of those that are known nothing is kept: a set may
 * have very many, and nearly always all of them are the known ones.
 */
export class ElementsReader {
  readonly #set: NftSet;
  readonly #length: number;
  /** The elements that the set is known to have; undefined once others were found. */
  #known: Elements | undefined;
  /** How many of the known elements were read. */
  #found = 0;
  /** The elements that were read, but for known ones. */
  readonly #elements = new Map<ElementKey, ElementValue>();
  #bounds: Bound[] = [];

  constructor(set: NftSet, known?: Elements) {
    this.#set = set;
    this.#length = keyLength(set.key);
    this.#known = known;
  }

  /** False for a set whose keys are not ours to read. */
  get legible(): boolean {
    return this.#set.key.length > 0;
  }

  /** Packets change it. */
  get isDynamic(): boolean {
    return this.#set.dynamic !== undefined;
  }

  /** The content of an NFTA_SET_ELEM_LIST_ELEMENTS. */
  read({ bytes, start, end }: Span): void {
    if (!this.legible) return;
    for (let at = start; at + HEADER <= end; ) {
      const size = bytes.readUInt16LE(at);
      if (size < HEADER || at + size > end) throw new RangeError(`set element of ${size} bytes at ${at}`);
      this.#readElement(bytes, at + HEADER, at + size);
      at += (size + 3) & ~3;
    }
  }

  /** All elements were read. Answers whether they have to be read again, because they are not the known ones. */
  settle(): boolean {
    this.#pairBounds();
    if (this.#known === undefined) return false;
    if (this.#elements.size === 0 && this.#found === this.#known.size) return false;
    this.#known = undefined;
    this.#elements.clear();
    return true;
  }

  /** The set; with all elements if none were known, and otherwise once it is settled. */
  finished(): NftSet {
    this.#pairBounds();
    return { ...this.#set, elements: this.#known ?? this.#elements };
  }

  #pairBounds(): void {
    for (const [key, value] of intervals(this.#set, this.#bounds)) this.#take(key, value);
    this.#bounds = [];
  }

  #take(key: ElementKey, value: ElementValue): void {
    const known = this.#known?.get(key);
    if (known !== undefined && valuesEqual(value, known)) this.#found++;
    else this.#elements.set(key, value);
  }

  #readElement(bytes: Buffer, start: number, end: number): void {
    let key = -1;
    let flags = 0;
    let value = MEMBER;
    for (let at = start; at + HEADER <= end; ) {
      const size = bytes.readUInt16LE(at);
      if (size < HEADER || at + size > end)
        throw new RangeError(`set element attribute of ${size} bytes at ${at}`);
      const from = at + HEADER;
      switch (bytes.readUInt16LE(at + 2) & TYPE_MASK) {
        case ELEMENT.KEY:
          key = from + HEADER; // after the header of its one NFTA_DATA_VALUE
          break;
        case ELEMENT.FLAGS:
          flags = bytes.readUInt32BE(from);
          break;
        case ELEMENT.EXPIRATION:
          value = { ...value, leftMs: Number(bytes.readBigUInt64BE(from)) };
          break;
        case ELEMENT.DATA:
        case ELEMENT.USERDATA:
          value = withAttribute(this.#set, value, bytes.readUInt16LE(at + 2) & TYPE_MASK, {
            bytes,
            start: from,
            end: at + size,
          });
          break;
      }
      at += (size + 3) & ~3;
    }
    this.#put(bytes, key, flags, value);
  }

  #put(bytes: Buffer, key: number, flags: number, value: ElementValue): void {
    if (key === -1) {
      if ((flags & ELEMENT_F.CATCHALL) !== 0) this.#take(CATCHALL, value);
    } else if (this.#set.interval) {
      const at = Uint8Array.from(bytes.subarray(key, key + this.#length));
      this.#bounds.push({ at, ends: (flags & ELEMENT_F.INTERVAL_END) !== 0, value });
    } else this.#take(readKey(this.#set.key, bytes, key), value);
  }
}

function withAttribute({ data }: NftSet, value: ElementValue, type: number, span: Span): ElementValue {
  if (type === ELEMENT.DATA && data !== undefined) {
    const at = span.start + HEADER; // after the header of its one NFTA_DATA_VALUE
    return at + keyLength(data) <= span.end ? { ...value, data: readKey(data, span.bytes, at) } : value;
  }
  if (type === ELEMENT.DATA) {
    const verdict = readVerdict(span);
    return verdict === undefined ? value : { ...value, verdict };
  }
  const comment = readComment(span, UDATA.ELEMENT_COMMENT);
  return comment === undefined ? value : { ...value, comment };
}

/** Pairs every start with the following end. An end without a start, which nft writes at zero, is ignored. */
function* intervals(
  { key: [type] }: NftSet,
  bounds: readonly Bound[],
): Generator<[ElementKey, ElementValue]> {
  if (type === undefined) return;
  // Where two intervals touch, the end of the first is at the start of the second, and comes first.
  const sorted = bounds.toSorted((a, b) => Buffer.compare(a.at, b.at) || Number(b.ends) - Number(a.ends));
  for (let i = 0; i < sorted.length; i++) {
    const { at: first, ends, value } = sorted[i]!;
    if (!ends) yield [intervalText(type, { first, end: sorted[i + 1]?.at }), value];
  }
}
