/** Gathers the elements of one set from the messages that carry them. */
import { keyLength } from '../../../nft/fieldbytes.ts';
import { type ElementKey, type ElementValue, MEMBER, type NftSet } from '../../../nft/ruleset.ts';
import type { Span } from '../wire/attributes.ts';
import { CATCHALL, ELEMENT, ELEMENT_F, UDATA } from './constants.ts';
import { intervalText } from './intervals.ts';
import { readKey } from './keys.ts';
import { readComment } from './userdata.ts';
import { readVerdict } from './verdicts.ts';

/** One of the two elements that the kernel holds for an interval. */
interface Bound {
  readonly at: Uint8Array;
  readonly ends: boolean;
  readonly value: ElementValue;
}

const HEADER = 4;
const TYPE_MASK = 0x3fff;

export class ElementsReader {
  readonly #set: NftSet;
  readonly #length: number;
  readonly #elements = new Map<ElementKey, ElementValue>();
  readonly #bounds: Bound[] = [];

  constructor(set: NftSet) {
    this.#set = set;
    this.#length = keyLength(set.key);
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

  finished(): NftSet {
    for (const [key, value] of intervals(this.#set, this.#bounds)) this.#elements.set(key, value);
    return { ...this.#set, elements: this.#elements };
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
          key = from + HEADER; // behind the header of its one NFTA_DATA_VALUE
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
      if ((flags & ELEMENT_F.CATCHALL) !== 0) this.#elements.set(CATCHALL, value);
    } else if (this.#set.interval) {
      const at = Uint8Array.from(bytes.subarray(key, key + this.#length));
      this.#bounds.push({ at, ends: (flags & ELEMENT_F.INTERVAL_END) !== 0, value });
    } else this.#elements.set(readKey(this.#set.key, bytes, key), value);
  }
}

function withAttribute({ data }: NftSet, value: ElementValue, type: number, span: Span): ElementValue {
  if (type === ELEMENT.DATA && data !== undefined) {
    const at = span.start + HEADER; // behind the header of its one NFTA_DATA_VALUE
    return at + keyLength(data) <= span.end ? { ...value, data: readKey(data, span.bytes, at) } : value;
  }
  if (type === ELEMENT.DATA) {
    const verdict = readVerdict(span);
    return verdict === undefined ? value : { ...value, verdict };
  }
  const comment = readComment(span, UDATA.ELEMENT_COMMENT);
  return comment === undefined ? value : { ...value, comment };
}

/** Pairs every start with the bound behind it. An end without a start, which nft writes at zero, means nothing. */
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
