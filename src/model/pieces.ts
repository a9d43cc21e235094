/** Work that stops now and then, so that whoever does it can let others go on; not done before its end. */
export type Pieces<T> = Generator<void, T>;

/** All of it in one go. */
export function wholeOf<T>(work: Pieces<T>): T {
  for (let piece = work.next(); ; piece = work.next()) if (piece.done) return piece.value;
}
