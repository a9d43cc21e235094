/**
 * Work that yields between pieces, so that its caller can run other tasks; it is done only when the generator has
 * ended.
 */
export type Pieces<T> = Generator<void, T>;

/** Runs all of it at once. */
export function wholeOf<T>(work: Pieces<T>): T {
  for (let piece = work.next(); ; piece = work.next()) if (piece.done) return piece.value;
}

/** Calls `look` for each value, and yields after each `ofAPiece` values. */
export function* inPieces<T>(ofAPiece: number, values: Iterable<T>, look: (value: T) => void): Pieces<void> {
  let looked = 0;
  for (const value of values) {
    look(value);
    if (++looked % ofAPiece === 0) yield;
  }
}
