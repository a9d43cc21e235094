/**
 * Netlink attributes: `struct nlattr { u16 nla_len; u16 nla_type; }`, the payload, zeros up to the next multiple
 * of four (`linux/netlink.h`). Headers are host-endian; the numbers that nf_tables puts in payloads are
 * big-endian. All of it is written straight into one growing buffer: a batch may hold a million attributes.
 */
import { endianness } from 'node:os';

// Words are stored whole, in the order that little-endian hosts (x64, arm64) have.
if (endianness() !== 'LE') throw new Error('netlink: only little-endian machines are supported');

const NLA_F_NESTED = 0x8000;
const NLA_TYPE_MASK = 0x3fff;
const HEADER = 4;

/** nla_len is a u16: a longer attribute would wrap silently, and the kernel would read nonsense. */
export const MAX_ATTRIBUTE = 0xffff;

/** Bytes that stay where they are in memory. */
export interface Memory {
  readonly bytes: Buffer;
  /** The address of the memory; the socket looks it up once and keeps it here. */
  address: bigint | undefined;
}

export class AttributeWriter {
  #bytes: Buffer;
  #memory: Memory;
  #words: Uint32Array;
  #at = 0;

  constructor(capacity = 4096) {
    this.#bytes = Buffer.alloc(align(capacity));
    this.#memory = { bytes: this.#bytes, address: undefined };
    this.#words = wordsOf(this.#bytes);
  }

  /** Bytes written so far, always a multiple of four. */
  get length(): number {
    return this.#at;
  }

  /** The written bytes; valid until the next `clear`. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  /** The whole buffer, to be filled where `blank` or `zeros` made room. A later writer may replace it. */
  get buffer(): Buffer {
    return this.#bytes;
  }

  /** The written bytes as memory that can be sent. */
  get memory(): Memory {
    return this.#memory;
  }

  clear(): void {
    this.#at = 0;
  }

  /** Makes room for `size` more bytes. Every writer below calls it, except `word` and `zeros`. */
  reserve(size: number): void {
    if (this.#at + size > this.#bytes.length) this.#grow(this.#at + size);
  }

  /** Four bytes in host order, without a look at the room left. */
  word(value: number): void {
    this.#words[this.#at >> 2] = value;
    this.#at += 4;
  }

  words(first: number, second: number, third: number, fourth: number): void {
    this.reserve(16);
    const at = this.#at >> 2;
    const words = this.#words;
    words[at] = first;
    words[at + 1] = second;
    words[at + 2] = third;
    words[at + 3] = fourth;
    this.#at += 16;
  }

  /** Overwrites a word, such as a length that was not known before. */
  patch(at: number, value: number): void {
    this.#words[at >> 2] = value;
  }

  u32(type: number, value: number): void {
    this.reserve(8);
    this.word((type << 16) | 8);
    this.word(bigEndian(value));
  }

  u16(type: number, value: number): void {
    const at = this.blank(type, 2);
    this.#bytes.writeUInt16BE(value, at);
  }

  /** Writes a number up to 2^53. */
  u64(type: number, value: number): void {
    const at = this.blank(type, 8);
    this.#bytes.writeBigUInt64BE(BigInt(value), at);
  }

  /** A name, ended by NUL. */
  string(type: number, text: string): void {
    // Names are short and nearly always ASCII: a call out of the engine would take longer than the letters.
    this.reserve(HEADER + align(text.length + 1));
    const start = this.#at + HEADER;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) {
        this.#utf8(type, text);
        return;
      }
      this.#bytes[start + i] = code;
    }
    this.word(attributeHeader(type, text.length + 1));
    this.#at += align(text.length + 1);
    for (let i = start + text.length; i < this.#at; i++) this.#bytes[i] = 0;
  }

  #utf8(type: number, text: string): void {
    const at = this.blank(type, Buffer.byteLength(text) + 1);
    this.#bytes.write(text, at);
  }

  hex(type: number, hex: string): void {
    const at = this.blank(type, hex.length / 2);
    if (this.#bytes.write(hex, at, 'hex') * 2 !== hex.length)
      throw new TypeError(`"${hex}" is not hexadecimal`);
  }

  /** An attribute of `size` zero bytes for the caller to fill in `buffer`; the answer is where they begin. */
  blank(type: number, size: number): number {
    this.reserve(HEADER + align(size));
    this.word(attributeHeader(type, size));
    return this.zeros(align(size));
  }

  /** `size` zero bytes, a multiple of four, without a look at the room left; the answer is where they begin. */
  zeros(size: number): number {
    const start = this.#at;
    this.#at += size;
    // The buffer is used again and again: what is not written over must not be an older batch.
    for (let word = start >> 2; word < this.#at >> 2; word++) this.#words[word] = 0;
    return start;
  }

  nest(type: number, content: () => void): void {
    const start = this.open(type);
    content();
    this.close(start);
  }

  /** Begins a nest; the answer is for `close`. */
  open(type: number): number {
    const start = this.#at;
    this.reserve(HEADER);
    this.word((NLA_F_NESTED | type) << 16);
    return start;
  }

  close(start: number): void {
    const size = this.#at - start;
    if (size > MAX_ATTRIBUTE) throw tooLong(size);
    this.#words[start >> 2]! |= size;
  }

  #grow(size: number): void {
    const bytes = Buffer.alloc(Math.max(align(size), 2 * this.#bytes.length));
    bytes.set(this.written);
    this.#bytes = bytes;
    this.#memory = { bytes, address: undefined };
    this.#words = wordsOf(bytes);
  }
}

/** The first word of an attribute with a payload of `size` bytes. */
export function attributeHeader(type: number, size: number): number {
  if (HEADER + size > MAX_ATTRIBUTE) throw tooLong(HEADER + size);
  return (type << 16) | (HEADER + size);
}

/** The first word of a nest whose content has `size` bytes. */
export function nestHeader(type: number, size: number): number {
  return attributeHeader(NLA_F_NESTED | type, size);
}

function tooLong(size: number): RangeError {
  return new RangeError(`netlink attribute of ${size} bytes: at most ${MAX_ATTRIBUTE} are possible`);
}

/** Offset and length of an attribute's payload in the bytes that were read. */
export interface Span {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** The attributes of a message or nest by type. Of several with one type the last counts, as in the kernel. */
export function readAttributes({ bytes, start, end }: Span): Map<number, Span> {
  const attributes = new Map<number, Span>();
  eachAttribute(bytes, start, end, (type, from, to) => attributes.set(type, { bytes, start: from, end: to }));
  return attributes;
}

export function eachAttribute(
  bytes: Buffer,
  start: number,
  end: number,
  visit: (type: number, start: number, end: number) => void,
): void {
  for (let at = start; at + HEADER <= end; ) {
    const size = bytes.readUInt16LE(at);
    if (size < HEADER || at + size > end) throw new RangeError(`netlink attribute of ${size} bytes at ${at}`);
    visit(bytes.readUInt16LE(at + 2) & NLA_TYPE_MASK, at + HEADER, at + size);
    at += align(size);
  }
}

export function readU32({ bytes, start }: Span): number {
  return bytes.readUInt32BE(start);
}

export function readU16({ bytes, start }: Span): number {
  return bytes.readUInt16BE(start);
}

export function readU64({ bytes, start }: Span): number {
  return Number(bytes.readBigUInt64BE(start));
}

export function readString({ bytes, start, end }: Span): string {
  const nul = bytes.indexOf(0, start);
  return bytes.toString('utf8', start, nul === -1 ? end : Math.min(nul, end));
}

export function readHex({ bytes, start, end }: Span): string {
  return bytes.toString('hex', start, end);
}

export function align(size: number): number {
  return (size + 3) & ~3;
}

export function bigEndian(value: number): number {
  return (value << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24);
}

function wordsOf(bytes: Buffer): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
}
