/** One text of each: the same few come all the time, each time in memory of its own. */
export class KnownTexts<T extends string> {
  readonly #texts = new Map<T, T>();

  /** The text that came first of those that are equal to this one; of more than a few, this one. */
  of(text: T): T {
    const known = this.#texts.get(text);
    if (known === undefined && this.#texts.size < MOST) this.#texts.set(text, text);
    return known ?? text;
  }
}

const MOST = 64;
