/** Sets of addresses as closed intervals, in order and apart. */
import {
  type Address,
  type AddressRange,
  addressBits,
  addressFromInt,
  type Cidr,
  cidrRange,
  type Family,
  networkOf,
  parseCidr,
} from '../model/address.ts';

export function rangesOf(cidrs: readonly Cidr[]): AddressRange[] {
  return merged(cidrs.map(cidrRange));
}

function merged(ranges: readonly AddressRange[]): AddressRange[] {
  const result: AddressRange[] = [];
  for (const range of [...ranges].sort(byFirst)) {
    const before = result.at(-1);
    if (before === undefined || before.family !== range.family || range.first > before.last + 1n)
      result.push(range);
    else if (range.last > before.last) result[result.length - 1] = { ...before, last: range.last };
  }
  return result;
}

function byFirst(a: AddressRange, b: AddressRange): number {
  if (a.family !== b.family) return a.family === 'ip' ? -1 : 1;
  return a.first < b.first ? -1 : a.first > b.first ? 1 : 0;
}

export function without(ranges: readonly AddressRange[], holes: readonly AddressRange[]): AddressRange[] {
  let rest = [...ranges];
  for (const hole of holes) rest = rest.flatMap(range => withoutOne(range, hole));
  return rest;
}

function withoutOne(range: AddressRange, hole: AddressRange): AddressRange[] {
  const { family, first, last } = range;
  if (family !== hole.family || hole.last < first || hole.first > last) return [range];
  return [
    ...(hole.first > first ? [{ family, first, last: hole.first - 1n }] : []),
    ...(hole.last < last ? [{ family, first: hole.last + 1n, last }] : []),
  ];
}

/** The ranges in pieces of which each is whole within or whole outside of every one of the networks. */
export function pieces(ranges: readonly AddressRange[], networks: readonly Cidr[]): AddressRange[] {
  const found = networks.map(cidrRange);
  return ranges.flatMap(({ family, first, last }) => {
    const starts = found
      .filter(network => network.family === family)
      .flatMap(network => [network.first, network.last + 1n])
      .filter(start => start > first && start <= last);
    const firsts = [...new Set([first, ...starts])].sort((a, b) => (a < b ? -1 : 1));
    return firsts.map((start, at) => ({ family, first: start, last: (firsts[at + 1] ?? last + 1n) - 1n }));
  });
}

const MOST_TRIED = 70_000n;

/** An address of the range that is not taken: the second one where it can be, for the first is the network's own. */
export function freeIn(range: AddressRange, taken: ReadonlySet<Address>): Address | undefined {
  const { family, first, last } = range;
  const start = last - first > 1n ? first + 1n : first;
  const end = start + MOST_TRIED < last ? start + MOST_TRIED : last;
  for (let value = start; value <= end; value++) {
    const address = addressFromInt(family, value);
    if (!taken.has(address)) return address;
  }
  return undefined;
}

const cidrs = (...texts: readonly string[]) => texts.map(text => parseCidr(text)!);

/** Addresses that packets of the world have; those that documents use stand for some of them. */
export const INTERNET: readonly AddressRange[] = without(
  rangesOf(cidrs('0.0.0.0/0', '2000::/3')),
  rangesOf(
    cidrs(
      '0.0.0.0/8',
      '10.0.0.0/8',
      '100.64.0.0/10',
      '127.0.0.0/8',
      '169.254.0.0/16',
      '172.16.0.0/12',
      '192.0.0.0/24',
      '192.168.0.0/16',
      '198.18.0.0/15',
      '224.0.0.0/3',
    ),
  ),
);

/** Where pods live when nobody knows where they do. */
export const PRIVATE: readonly AddressRange[] = rangesOf(
  cidrs('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fd00::/8'),
);

export function contains(ranges: readonly AddressRange[], family: Family, value: bigint): boolean {
  return ranges.some(range => range.family === family && range.first <= value && value <= range.last);
}

const MOST_SHOWN = 4;

/** `10.0.0.0/8, 172.16.0.0/12`; of many networks the first and the last address. */
export function rangesText(ranges: readonly AddressRange[]): string {
  const networks = merged(ranges).flatMap(networksIn);
  if (networks.length <= MOST_SHOWN) return networks.join(', ');
  return (
    merged(ranges).slice(0, MOST_SHOWN).map(spanText).join(', ') +
    (merged(ranges).length > MOST_SHOWN ? ', …' : '')
  );
}

function spanText({ family, first, last }: AddressRange): string {
  return `${addressFromInt(family, first)}-${addressFromInt(family, last)}`;
}

/** The fewest networks that make up the range. */
function networksIn({ family, first, last }: AddressRange): string[] {
  const found: string[] = [];
  const bits = addressBits(family);
  for (let start = first; start <= last; ) {
    let size = 0;
    while (
      size < bits &&
      start % (1n << BigInt(size + 1)) === 0n &&
      start + (1n << BigInt(size + 1)) - 1n <= last
    )
      size++;
    const { base, prefix } = networkOf(addressFromInt(family, start), bits - size);
    found.push(`${base}/${prefix}`);
    start += 1n << BigInt(size);
  }
  return found;
}
