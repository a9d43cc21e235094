/** Follows what keeps the node from taking further pods, and tells when that changes. */
import type { NetworkError } from '../error.ts';

/** Looks at most this often: each look reads the kernel's routes. */
const SOON_MS = 50;

export class NetworkUnavailableWatch {
  readonly #find: () => Promise<NetworkError | undefined>;
  readonly #tell: (unavailable: NetworkError | undefined) => void;
  /** Absent until it was told for the first time: what an agent before us said may be wrong by now. */
  #told: { readonly text: string | undefined } | undefined;
  #turn: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  /** `find` must not throw. */
  constructor(
    find: () => Promise<NetworkError | undefined>,
    tell: (unavailable: NetworkError | undefined) => void,
  ) {
    this.#find = find;
    this.#tell = tell;
  }

  /** An address was given out, or came back: looks soon, once for many. */
  look(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined; // what happens from here on may come too late for this look
      this.#turn = this.#turn.then(() => this.#lookNow());
    }, SOON_MS).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #lookNow(): Promise<void> {
    const found = await this.#find();
    if (this.#told !== undefined && this.#told.text === found?.message) return;
    this.#told = { text: found?.message };
    this.#tell(found);
  }
}
