/** 2^32 divided by the golden ratio: it spreads neighbouring hashes over the table. */
const SPREAD = 0x9e3779b1;

/** The index of a 32-bit hash in a table of 2^`bits` slots, where a slot in use moves the entry to the next one. */
export function slotOf(hash: number, bits: number): number {
  return Math.imul(hash, SPREAD) >>> (32 - bits);
}
