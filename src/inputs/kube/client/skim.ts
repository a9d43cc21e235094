/**
 * Reads a JSON value as its bytes arrive, and keeps only the fields of a shape. A pod may have 1.5 MB and a page of
 * pods 700 MB, while policy depends on a few hundred bytes of each: all other fields never come into memory. The kept
 * fields have a size limit, too; a value beyond it is replaced by a text, which the decoder of the object rejects as a
 * wrong type.
 */
import { ApiError, garbled, parsed } from './api.ts';

/**
 * Which parts of a value are kept: all or none of it, or of a map (and of each map of a list) some keys; `*` is any
 * other key.
 */
export type Shape = 'all' | 'none' | { readonly [key: string]: Shape } | Each;

/** The entries of a list, each handed on as soon as it is whole, and kept no longer. */
export interface Each {
  readonly each: Shape;
  readonly emit: (entry: unknown) => void;
}

export const TOO_LARGE = 'too large to be read';

/** Bytes that are kept of one value, such as `spec.ingress`; twice as many of all of `spec`. */
const MOST_BYTES = 2_000_000;
const LONGEST_KEY = 1_000;

interface Frame {
  readonly isList: boolean;
  readonly shape: Shape;
  /** The offset at which the kept part of the value begins. */
  readonly start: number;
  hasMembers: boolean;
  expects: 'key or end' | 'key' | 'colon' | 'value or end' | 'value' | 'comma or end';
  /** The key of the member that is being read. */
  key: string;
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_MAP, CLOSE_MAP, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

export class Skimmer {
  readonly #most: number;
  /** Levels above the values that `most` is about: 1 for an object, 2 for one in a watch event. */
  readonly #levels: number;
  readonly #root: Shape;
  readonly #frames: Frame[] = [];
  readonly #kept = new KeptBytes();
  /** The value that is taken or left whole, from its first byte to its last. */
  #whole: Whole | undefined;
  #keyBytes: number[] | undefined;
  #isEscaped = false;
  #isDone = false;

  constructor(root: Shape, levels = 1, most = MOST_BYTES) {
    this.#root = root;
    this.#levels = levels;
    this.#most = most;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Takes bytes in, from `at` on; answers where the value ended, or the length of the chunk. */
  push(chunk: Uint8Array, at = 0): number {
    let position = at;
    while (position < chunk.length && !this.#isDone) {
      if (this.#whole !== undefined) position = this.#takeWhole(this.#whole, chunk, position);
      else if (this.#keyBytes !== undefined) position = this.#takeKey(this.#keyBytes, chunk, position);
      else position = this.#takeByte(chunk, position);
    }
    return position;
  }

  /** The kept part of the value. */
  value(): unknown {
    if (!this.#isDone) throw new ApiError('cut', 'the answer ends in the middle of an object');
    return this.#kept.parse(0);
  }

  #takeByte(chunk: Uint8Array, position: number): number {
    const byte = chunk[position]!;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return position + 1;
    const frame = this.#frames.at(-1);
    if (frame === undefined) return this.#begin(byte, this.#root, chunk, position);
    switch (frame.expects) {
      case 'key or end':
      case 'key':
        if (byte === CLOSE_MAP && frame.expects === 'key or end') this.#close(frame);
        else if (byte === QUOTE) this.#keyBytes = [];
        else throw garbled();
        return position + 1;
      case 'colon':
        if (byte !== COLON) throw garbled();
        frame.expects = 'value';
        return position + 1;
      case 'comma or end':
        if (byte === COMMA) frame.expects = frame.isList ? 'value' : 'key';
        else if (byte === (frame.isList ? CLOSE_LIST : CLOSE_MAP)) this.#close(frame);
        else throw garbled();
        return position + 1;
      case 'value or end':
        if (byte === CLOSE_LIST) {
          this.#close(frame);
          return position + 1;
        }
        return this.#beginMember(frame, byte, chunk, position);
      case 'value':
        return this.#beginMember(frame, byte, chunk, position);
    }
  }

  #takeKey(bytes: number[], chunk: Uint8Array, position: number): number {
    const byte = chunk[position]!;
    if (byte === QUOTE && !this.#isEscaped) {
      const frame = this.#frames.at(-1)!;
      frame.key = parsed(`"${Buffer.from(bytes).toString('utf8')}"`) as string;
      frame.expects = 'colon';
      this.#keyBytes = undefined;
      return position + 1;
    }
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
    bytes.push(byte);
    if (bytes.length > LONGEST_KEY) throw garbled();
    return position + 1;
  }

  #beginMember(frame: Frame, byte: number, chunk: Uint8Array, position: number): number {
    const shape = shapeOfMember(frame);
    frame.expects = 'comma or end';
    const isHandedOn = isEach(frame.shape);
    if (shape !== 'none' && !isHandedOn) {
      if (frame.hasMembers) this.#kept.write(',');
      if (!frame.isList) this.#kept.write(`${JSON.stringify(frame.key)}:`);
      frame.hasMembers = true;
    }
    return this.#begin(byte, shape, chunk, position);
  }

  #begin(byte: number, shape: Shape, chunk: Uint8Array, position: number): number {
    if (this.#frames.length >= MOST_LEVELS) throw garbled();
    const isList = byte === OPEN_LIST;
    if (typeof shape === 'string' || (byte !== OPEN_MAP && !isList)) {
      const isKept = shape !== 'none';
      this.#whole = {
        isKept,
        start: this.#kept.length,
        depth: 0,
        inText: false,
        isEscaped: false,
        hasBegun: false,
      };
      return this.#takeWhole(this.#whole, chunk, position);
    }
    const start = this.#kept.length;
    this.#kept.write(isList ? '[' : '{');
    const expects = isList ? 'value or end' : 'key or end';
    this.#frames.push({ isList, shape, start, hasMembers: false, expects, key: '' });
    return position + 1;
  }

  /** Takes the part of the value that is in this chunk. */
  #takeWhole(whole: Whole, chunk: Uint8Array, position: number): number {
    const end = valueEnd(whole, chunk, position);
    if (whole.isKept) {
      this.#kept.append(chunk, position, end.at);
      if (this.#kept.length - whole.start > this.#limitAt(this.#frames.length)) this.#refuse(whole);
    }
    if (end.isLast) {
      this.#whole = undefined;
      this.#memberEnded();
    }
    return end.at;
  }

  #limitAt(level: number): number {
    if (level < this.#levels) return Number.POSITIVE_INFINITY;
    return level === this.#levels ? this.#most * 2 : this.#most;
  }

  #refuse(whole: Whole): void {
    whole.isKept = false;
    this.#kept.cut(whole.start);
    this.#kept.write(JSON.stringify(TOO_LARGE));
  }

  #close(frame: Frame): void {
    this.#kept.write(frame.isList ? ']' : '}');
    this.#frames.pop();
    this.#memberEnded();
  }

  #memberEnded(): void {
    const frame = this.#frames.at(-1);
    if (frame === undefined) this.#isDone = true;
    else if (isEach(frame.shape)) this.#handOn(frame.shape, frame.start + 1);
    else this.#checkSize();
  }

  #handOn({ emit }: Each, start: number): void {
    const entry = this.#kept.parse(start);
    this.#kept.cut(start);
    emit(entry);
  }

  /** A value whose kept members are together too many is replaced, and the rest of it is left. */
  #checkSize(): void {
    for (let level = this.#frames.length - 1; level >= this.#levels; level--) {
      const { start } = this.#frames[level]!;
      if (this.#kept.length - start <= this.#limitAt(level)) continue;
      const depth = this.#frames.length - level;
      this.#frames.length = level;
      this.#whole = { isKept: true, start, depth, inText: false, isEscaped: false, hasBegun: true };
      this.#refuse(this.#whole);
    }
  }
}

function shapeOfMember({ isList, shape, key }: Frame): Shape {
  if (typeof shape === 'string') return shape;
  if (isEach(shape)) return shape.each;
  if (isList) return shape;
  if (Object.hasOwn(shape, key)) return shape[key]!;
  return Object.hasOwn(shape, '*') ? shape['*']! : 'none';
}

function isEach(shape: Shape): shape is Each {
  return typeof shape === 'object' && typeof shape.emit === 'function';
}

/** Bytes in one buffer that grows: pieces of chunks would keep the whole chunks. */
class KeptBytes {
  #buffer = Buffer.allocUnsafe(4096);
  length = 0;

  write(text: string): void {
    const bytes = Buffer.from(text);
    this.append(bytes, 0, bytes.length);
  }

  append(from: Uint8Array, start: number, end: number): void {
    const needed = this.length + end - start;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, this.length));
      this.#buffer = larger;
    }
    this.#buffer.set(from.subarray(start, end), this.length);
    this.length = needed;
  }

  cut(length: number): void {
    this.length = length;
  }

  parse(start: number): unknown {
    return parsed(this.#buffer.toString('utf8', start, this.length));
  }
}

/** The API server takes no deeper nesting either. */
const MOST_LEVELS = 10_000;

/** The brackets that are open at the current byte of a value that is kept or skipped as a whole. */
export interface Whole {
  isKept: boolean;
  readonly start: number;
  depth: number;
  inText: boolean;
  isEscaped: boolean;
  hasBegun: boolean;
}

/**
 * The position in this chunk after the value's last byte, or the end of the chunk. The contents of its brackets are
 * skipped.
 */
function valueEnd(whole: Whole, chunk: Uint8Array, position: number): { at: number; isLast: boolean } {
  let { depth, inText, isEscaped, hasBegun } = whole;
  for (let at = position; at < chunk.length; at++) {
    const byte = chunk[at]!;
    if (inText) {
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) {
        inText = false;
        if (depth === 0) return { at: at + 1, isLast: true };
      }
    } else if (byte === QUOTE) {
      if (depth === 0 && hasBegun) throw garbled();
      inText = true;
    } else if (byte === OPEN_MAP || byte === OPEN_LIST) {
      if (depth === 0 && hasBegun) throw garbled();
      if (++depth > MOST_LEVELS) throw garbled();
    } else if (byte === CLOSE_MAP || byte === CLOSE_LIST) {
      // A number or a literal ends before the bracket that closes the value around it.
      if (depth === 0) return endOfWord(hasBegun, at);
      if (--depth === 0) return { at: at + 1, isLast: true };
    } else if (depth === 0 && (byte === COMMA || byte <= 0x20)) return endOfWord(hasBegun, at);
    hasBegun = true;
  }
  Object.assign(whole, { depth, inText, isEscaped, hasBegun });
  return { at: chunk.length, isLast: false };
}

function endOfWord(hasBegun: boolean, at: number): { at: number; isLast: boolean } {
  if (!hasBegun) throw garbled();
  return { at, isLast: true };
}
