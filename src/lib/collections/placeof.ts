/** 2^32 divided by the golden ratio: neighbours come far from one another. */
const SPREAD = 0x9e3779b1;

/** Which of 2^`bits` places a number of 32 bits has, in a table in which the next one that comes to a place takes it. */
export function placeOf(hash: number, bits: number): number {
  return Math.imul(hash, SPREAD) >>> (32 - bits);
}
