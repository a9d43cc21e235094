/**
 * Whether whoever asks is let in by any node. A node may refuse by itself (a right for some pods alone, an admission that
 * fails): it is away then, and the right is missing where every node that has answered refuses.
 */
import type { MissingRight } from './agents.ts';

export class LetIn {
  /** Nodes of whose first try nobody knows how it ends. */
  readonly #asked = new Set<string>();
  readonly #answer = Promise.withResolvers<void>();
  #refusal: MissingRight | undefined;
  #isIn = false;

  constructor() {
    this.#answer.promise.catch(() => undefined);
  }

  ask(node: string): void {
    this.#asked.add(node);
  }

  /** It has said something. */
  heard(): void {
    this.#isIn = true;
    this.#answer.resolve();
  }

  /** Its first try is over. */
  over(node: string): void {
    this.#asked.delete(node);
    if (this.#asked.size === 0 && !this.#isIn && this.#refusal !== undefined)
      this.#answer.reject(this.#refusal);
  }

  /** Waits until another lets the caller in; throws where none does. */
  async refused(node: string, refusal: MissingRight): Promise<void> {
    this.#refusal ??= refusal;
    this.over(node);
    await this.#answer.promise;
  }
}
