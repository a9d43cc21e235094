/** Watches the reasons why the node cannot take further pods, and reports when they change. */
import type { NetworkError } from '../error.ts';

/** Looks at most this often: each look reads the kernel's routes. */
const SOON_MS = 50;

export class NetworkUnavailableWatch {
  readonly #find: () => Promise<NetworkError | undefined>;
  readonly #report: (unavailable: NetworkError | undefined) => void;
  /** Absent until the first report: the report of a previous agent may be outdated. */
  #reported: { readonly text: string | undefined } | undefined;
  #turn: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  /** `find` must not throw. */
  constructor(
    find: () => Promise<NetworkError | undefined>,
    report: (unavailable: NetworkError | undefined) => void,
  ) {
    this.#find = find;
    this.#report = report;
  }

  /** An address was given out, or came back: looks soon, once for many. */
  look(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined; // later changes may come too late for this look, so they need another one
      this.#turn = this.#turn.then(() => this.#lookNow());
    }, SOON_MS).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #lookNow(): Promise<void> {
    const found = await this.#find();
    if (this.#reported !== undefined && this.#reported.text === found?.message) return;
    this.#reported = { text: found?.message };
    this.#report(found);
  }
}
