/** The last text of each object, to notice updates that change nothing. */
export class TextByName {
  readonly #texts = new Map<string, string>();

  /**
   * Returns whether the text differs from the last one of that name. An object that was not noted has an empty text.
   */
  note(name: string, text: string): boolean {
    if ((this.#texts.get(name) ?? '') === text) return false;
    if (text === '') this.#texts.delete(name);
    else this.#texts.set(name, text);
    return true;
  }
}
