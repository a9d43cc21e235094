/** Ranges of addresses as the fewest networks that hold them and nothing else. */
import { addressBits, addressFromInt, type Cidr, type Family } from '../model/address.ts';
import type { Range } from './toggles.ts';

export function cidrsOf(family: Family, ranges: readonly Range<bigint>[]): Cidr[] {
  return ranges.flatMap(range => [...cidrsOfRange(family, range)]);
}

function* cidrsOfRange(family: Family, { first, last }: Range<bigint>): Generator<Cidr> {
  for (let at = first; at <= last; ) {
    const host = hostBits(family, at, last);
    yield { family, base: addressFromInt(family, at), prefix: addressBits(family) - host };
    at += 1n << BigInt(host);
  }
}

/** Of the largest network that begins at `at` and does not go beyond `last`. */
function hostBits(family: Family, at: bigint, last: bigint): number {
  let bits = 0;
  while (bits < addressBits(family)) {
    const size = 1n << BigInt(bits + 1);
    if (at % size !== 0n || at + size - 1n > last) break;
    bits++;
  }
  return bits;
}
