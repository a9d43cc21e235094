/** The limit on what a question reads: an answer without end would use all memory, and the user would not learn why. */
import { thousands } from '../../../lib/text/thousands.ts';
import { type Api, ApiError, type Query } from '../client/api.ts';

/** Limits of all answers together: 150,000 pods are some 1.5 GB. */
export const MOST_READ = { bytes: 2 ** 32, objects: 500_000 };
/** A page of a list without end may be without objects. */
const OBJECTS_OF_A_PAGE = 50;

export class MeasuredApi implements Api {
  readonly #api: Api;
  readonly #most: typeof MOST_READ;
  #objects = 0;
  #bytes = 0;

  constructor(api: Api, most = MOST_READ) {
    this.#api = api;
    this.#most = most;
  }

  async get(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    this.read(path, OBJECTS_OF_A_PAGE);
    return this.#measured(path, await this.#api.get(path, query, signal));
  }

  /** Counts objects that were read at this path. Throws if there are too many. */
  read(path: string, objects: number): void {
    this.#objects += objects;
    const { objects: most } = this.#most;
    if (this.#objects > most)
      throw tooLarge(`${path}: what is listed has more than ${thousands(most)} objects`);
  }

  async *#measured(path: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.#bytes += chunk.length;
      if (this.#bytes > this.#most.bytes)
        throw tooLarge(`${path}: what is listed has more than ${this.#most.bytes / 2 ** 20} MiB`);
      yield chunk;
    }
  }
}

function tooLarge(what: string): ApiError {
  return new ApiError('too large', `${what}, if it has an end`);
}
