/** Reads numbers from untrusted bytes: bytes beyond the end are zero. */

/** Two bytes, in network order. */
export function readUint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

/** Four bytes, unsigned. */
export function readUint32(bytes: Uint8Array, at: number): number {
  return ((readUint16(bytes, at) << 16) | readUint16(bytes, at + 2)) >>> 0;
}
