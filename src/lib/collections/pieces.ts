/** Work that stops now and then, so that its caller can let others go on; not done before its end. */
export type Pieces<T> = Generator<void, T>;

/** All of it in one go. */
export function wholeOf<T>(work: Pieces<T>): T {
  for (let piece = work.next(); ; piece = work.next()) if (piece.done) return piece.value;
}

/** Looks at each value, so many in a piece. */
export function* inPieces<T>(ofAPiece: number, values: Iterable<T>, look: (value: T) => void): Pieces<void> {
  let looked = 0;
  for (const value of values) {
    look(value);
    if (++looked % ofAPiece === 0) yield;
  }
}
