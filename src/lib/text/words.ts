/** Numbers in what hostile hosts send: where there is no byte any more, it is zero. */

/** Of two bytes, in network order. */
export function word(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

/** Of four; without sign. */
export function longWord(bytes: Uint8Array, at: number): number {
  return ((word(bytes, at) << 16) | word(bytes, at + 2)) >>> 0;
}
