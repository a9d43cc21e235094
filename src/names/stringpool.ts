/** One string in memory for equal ones: messages bring the same few strings again and again, each time as a copy. */
export class StringPool<T extends string> {
  readonly #texts = new Map<T, T>();

  /** The first string that is equal to this one. Beyond 64 different ones nothing is kept, and the answer is `text`. */
  of(text: T): T {
    const known = this.#texts.get(text);
    if (known === undefined && this.#texts.size < MOST) this.#texts.set(text, text);
    return known ?? text;
  }
}

const MOST = 64;
