/** Sets of small numbers, of a fixed size, as words of bits. Only `add` changes one. */

export class Bits {
  readonly size: number;
  readonly words: Uint32Array<ArrayBuffer>;

  constructor(size: number) {
    this.size = size;
    this.words = new Uint32Array((size + 31) >>> 5);
  }

  static full(size: number): Bits {
    const bits = new Bits(size);
    for (let i = 0; i < size; i++) bits.add(i);
    return bits;
  }

  static of(size: number, members: Iterable<number>): Bits {
    const bits = new Bits(size);
    for (const member of members) bits.add(member);
    return bits;
  }

  add(i: number): void {
    this.words[i >>> 5]! |= 1 << (i & 31);
  }

  flip(i: number): void {
    this.words[i >>> 5]! ^= 1 << (i & 31);
  }

  has(i: number): boolean {
    return (this.words[i >>> 5]! & (1 << (i & 31))) !== 0;
  }

  isEmpty(): boolean {
    for (let i = 0; i < this.words.length; i++) if (this.words[i] !== 0) return false;
    return true;
  }

  and(other: Bits): Bits {
    return this.#with(other, (a, b) => a & b);
  }

  or(other: Bits): Bits {
    return this.#with(other, (a, b) => a | b);
  }

  minus(other: Bits): Bits {
    return this.#with(other, (a, b) => a & ~b);
  }

  meets(other: Bits): boolean {
    for (let i = 0; i < this.words.length; i++) if ((this.words[i]! & other.words[i]!) !== 0) return true;
    return false;
  }

  /** Writes a value at the place of each member. */
  fill(values: Uint32Array, value: number): void {
    for (let i = 0; i < this.words.length; i++)
      for (let word = this.words[i]!; word !== 0; word &= word - 1)
        values[(i << 5) + 31 - Math.clz32(word & -word)] = value;
  }

  *[Symbol.iterator](): Generator<number> {
    for (let i = 0; i < this.words.length; i++)
      for (let word = this.words[i]!; word !== 0; word &= word - 1)
        yield (i << 5) + 31 - Math.clz32(word & -word);
  }

  /** A text that is equal for two sets with the same members and size. */
  key(): string {
    return textOfWords(this.words);
  }

  #with(other: Bits, operation: (a: number, b: number) => number): Bits {
    const result = new Bits(this.size);
    for (let i = 0; i < this.words.length; i++) result.words[i] = operation(this.words[i]!, other.words[i]!);
    return result;
  }
}

/** A text that is equal for equal words only. */
export function textOfWords(words: Uint32Array<ArrayBuffer>): string {
  const units = new Uint16Array(words.buffer);
  let text = '';
  for (let at = 0; at < units.length; at += MOST_ARGUMENTS)
    text += String.fromCharCode(...units.subarray(at, at + MOST_ARGUMENTS));
  return text;
}

const MOST_ARGUMENTS = 8_192;
