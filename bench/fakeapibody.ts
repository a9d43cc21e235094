/** Faults in the answers of the API server in memory. */
import type { ServerResponse } from 'node:http';
import { status } from './fakeapiobjects.ts';

/** A change of an answer's bytes, or a replacement for the answer. */
export type Fault =
  | { readonly type: 'status'; readonly code: number; readonly retryAfter?: number }
  /** A connection that is reset before the answer, or one that never answers. */
  | { readonly type: 'reset' | 'silent' }
  /** 200 and a page for people. */
  | { readonly type: 'garbage' }
  /** The connection is reset after so many bytes of the body. */
  | { readonly type: 'truncate'; readonly bytes: number }
  /** The body arrives in pieces of so many bytes. */
  | { readonly type: 'slow'; readonly bytes: number };

/** The body of an answer, as its fault lets it pass. */
export class Body {
  readonly #response: ServerResponse;
  readonly #fault: Fault | undefined;
  #written = 0;
  #queue: Promise<void> = Promise.resolve();

  constructor(response: ServerResponse, fault: Fault | undefined) {
    this.#response = response;
    this.#fault = fault;
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    if (this.#fault?.type === 'truncate') this.#truncated(bytes, this.#fault.bytes);
    else if (this.#fault?.type === 'slow') this.#slowly(bytes, this.#fault.bytes);
    else this.#response.write(bytes);
  }

  end(): void {
    this.#queue = this.#queue.then(() => void this.#response.end());
  }

  #truncated(bytes: Buffer, most: number): void {
    const left = most - this.#written;
    this.#written += bytes.length;
    if (left <= 0) return;
    this.#response.write(bytes.subarray(0, left));
    if (left < bytes.length) setImmediate(() => this.#response.destroy());
  }

  #slowly(bytes: Buffer, size: number): void {
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size);
      this.#queue = this.#queue.then(async () => {
        if (!this.#response.destroyed) this.#response.write(piece);
        await new Promise(resolve => setImmediate(resolve));
      });
    }
  }
}

export function refuse(response: ServerResponse, code: number, retryAfter?: number): void {
  const headers = { ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }) };
  response.writeHead(code, headers).end(JSON.stringify(status(code)));
}
