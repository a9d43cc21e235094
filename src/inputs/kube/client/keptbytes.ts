import { parsed } from './garbled.ts';

/** Bytes in one buffer that grows: pieces of chunks would keep the whole chunks. */
export class KeptBytes {
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
