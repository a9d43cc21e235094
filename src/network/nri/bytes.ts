/** Bytes that came in pieces, taken out in others. Nothing is reserved ahead: a header may promise what never comes. */
export class ByteQueue {
  #chunks: Buffer[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** A copy of the first bytes, which stay; `count` must not exceed `length`. */
  peek(count: number): Buffer {
    if ((this.#chunks[0]?.length ?? 0) < count) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks.length === 0 ? Buffer.alloc(0) : this.#chunks[0]!.subarray(0, count);
  }

  /** `count` must not exceed `length`. */
  take(count: number): Buffer {
    const taken = this.peek(count);
    if (this.#chunks.length > 0) {
      const rest = this.#chunks[0]!.subarray(count);
      if (rest.length > 0) this.#chunks[0] = rest;
      else this.#chunks.shift();
    }
    this.#length -= count;
    return taken;
  }
}
