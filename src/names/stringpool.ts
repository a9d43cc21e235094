/** Keeps one copy of equal strings: messages contain the same few strings again and again, each time as a new copy. */
export class StringPool<T extends string> {
  readonly #texts = new Map<T, T>();

  /**
   * The first string that was equal to this one. After 64 different strings no more are kept, and `text` itself is
   * returned.
   */
  of(text: T): T {
    const known = this.#texts.get(text);
    if (known === undefined && this.#texts.size < MOST) this.#texts.set(text, text);
    return known ?? text;
  }
}

const MOST = 64;
