/** Reads numbers from untrusted bytes: bytes beyond the end are zero. */

/** Two bytes, in network order. */
export function word(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

/** Four bytes, unsigned. */
export function longWord(bytes: Uint8Array, at: number): number {
  return ((word(bytes, at) << 16) | word(bytes, at + 2)) >>> 0;
}
