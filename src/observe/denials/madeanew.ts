/** What is made of a model, for as long as the model stays as it was. */
export class MadeAnew<T> {
  readonly #make: () => T;
  #made: T | undefined;
  /** Something has changed since the last flush, and before it since the one before. */
  #changing = false;
  #changed = false;

  constructor(make: () => T) {
    this.#make = make;
  }

  get value(): T {
    this.#made ??= this.#make();
    return this.#made;
  }

  change(): void {
    this.#changing = true;
    this.#made = undefined;
  }

  /** The model holds all that changed before the call before: what changes meanwhile may come into it one flush later. */
  flushed(): void {
    if (this.#changing || this.#changed) this.#made = undefined;
    this.#changed = this.#changing;
    this.#changing = false;
  }
}
