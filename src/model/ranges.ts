/** Address ranges: merged, and as networks. */
import { type AddressRange, addressBits, addressFromInt, type Cidr, type Family } from './address.ts';

/** The addresses of the given ranges, as sorted ranges that neither overlap nor touch; IPv4 first. */
export function mergeRanges(ranges: readonly AddressRange[]): AddressRange[] {
  const merged: AddressRange[] = [];
  for (const range of [...ranges].sort(byFirst)) {
    const before = merged.at(-1);
    if (before === undefined || before.family !== range.family || range.first > before.last + 1n)
      merged.push(range);
    else if (range.last > before.last) merged[merged.length - 1] = { ...before, last: range.last };
  }
  return merged;
}

function byFirst(a: AddressRange, b: AddressRange): number {
  if (a.family !== b.family) return a.family === 'ip' ? -1 : 1;
  return a.first < b.first ? -1 : a.first > b.first ? 1 : 0;
}

/** The fewest networks that together contain exactly the range. */
export function cidrsOf({ family, first, last }: AddressRange): Cidr[] {
  const found: Cidr[] = [];
  for (let at = first; at <= last; ) {
    const host = hostBits(family, at, last);
    found.push({ family, base: addressFromInt(family, at), prefix: addressBits(family) - host });
    at += 1n << BigInt(host);
  }
  return found;
}

/** The host bits of the largest network that begins at `at` and does not go beyond `last`. */
function hostBits(family: Family, at: bigint, last: bigint): number {
  let bits = 0;
  while (bits < addressBits(family)) {
    const size = 1n << BigInt(bits + 1);
    if (at % size !== 0n || at + size - 1n > last) break;
    bits++;
  }
  return bits;
}
