/** Values of registers as bytes: words in host byte order, constants of rules, and comparisons of them. */
import type { CmpOp, Hex } from '../ruleset.ts';

/** A 32-bit word in host byte order: the lowest byte first. */
export function hostWord(value: number): readonly number[] {
  return [value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, value >>> 24];
}

/** The kind of an interface as bytes, filled up with zeros to IFNAMSIZ. */
export function kindBytes(kind: string): readonly number[] {
  return [...Buffer.alloc(16, Buffer.from(`${kind}\0`.padEnd(16, '\0')))];
}

export function maskAndXor(bytes: Uint8Array, { mask, xor }: { mask: Hex; xor: Hex }): Uint8Array {
  const [ands, xors] = [bytesOf(mask), bytesOf(xor)];
  return bytes.map((byte, i) => (byte & ands[i]!) ^ xors[i]!);
}

/** Cached: rules compare with the same few values, and very many packets are walked through them. */
const KNOWN = new Map<Hex, Uint8Array>();
const MOST_KNOWN = 10_000;

export function bytesOf(hex: Hex): Uint8Array {
  const found = KNOWN.get(hex);
  if (found !== undefined) return found;
  if (KNOWN.size >= MOST_KNOWN) KNOWN.clear();
  const bytes = Uint8Array.from(Buffer.from(hex, 'hex'));
  KNOWN.set(hex, bytes);
  return bytes;
}

export function compares(op: CmpOp, difference: number): 'continue' | 'break' {
  return HOLDS[op](difference) ? 'continue' : 'break';
}

const HOLDS: Readonly<Record<CmpOp, (difference: number) => boolean>> = {
  eq: difference => difference === 0,
  neq: difference => difference !== 0,
  lt: difference => difference < 0,
  lte: difference => difference <= 0,
  gt: difference => difference > 0,
  gte: difference => difference >= 0,
};
