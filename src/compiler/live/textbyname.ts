/** What objects last said of something: most of them say the same all day. */
export class TextByName {
  readonly #texts = new Map<string, string>();

  /** Answers whether it is another text than the last one of that name; none is an empty one. */
  note(name: string, text: string): boolean {
    if ((this.#texts.get(name) ?? '') === text) return false;
    if (text === '') this.#texts.delete(name);
    else this.#texts.set(name, text);
    return true;
  }
}
