/** Runs work of one key in order, and work of different keys at the same time. */
export class KeyedQueue<K> {
  readonly #last = new Map<K, Promise<unknown>>();

  /** The keys for which work is running or waiting. */
  get busy(): ReadonlySet<K> {
    return new Set(this.#last.keys());
  }

  run<T>(key: K, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const done = result.then(
      () => {},
      () => {},
    );
    this.#last.set(key, done);
    void done.then(() => {
      if (this.#last.get(key) === done) this.#last.delete(key);
    });
    return result;
  }
}
