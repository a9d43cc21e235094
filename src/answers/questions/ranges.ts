/** Sets of addresses as closed intervals, in order and apart. */
import {
  type Address,
  type AddressRange,
  addressFromInt,
  type Cidr,
  cidrRange,
  cidrText,
  type Family,
  familyOf,
  networkOf,
  parseCidr,
} from '../../model/address.ts';
import { type Cluster, isSelectable } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { cidrsOf, mergeRanges } from '../../model/ranges.ts';

function rangesOf(cidrs: readonly Cidr[]): AddressRange[] {
  return mergeRanges(cidrs.map(cidrRange));
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

/**
 * Addresses that hosts on the internet can have. The ranges reserved for documentation are included, so that examples
 * work.
 */
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

/** Ranges of pod addresses for clusters that do not state their own. */
export const PRIVATE: readonly AddressRange[] = rangesOf(
  cidrs('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fd00::/8'),
);

export function contains(ranges: readonly AddressRange[], family: Family, value: bigint): boolean {
  return ranges.some(range => range.family === family && range.first <= value && value <= range.last);
}

const MOST_SHOWN = 4;

/** `10.0.0.0/8, 172.16.0.0/12`; of many networks the first and the last address. */
export function rangesText(ranges: readonly AddressRange[]): string {
  const merged = mergeRanges(ranges);
  const networks = merged.flatMap(cidrsOf);
  if (networks.length <= MOST_SHOWN) return networks.map(cidrText).join(', ');
  return merged.slice(0, MOST_SHOWN).map(spanText).join(', ') + (merged.length > MOST_SHOWN ? ', …' : '');
}

function spanText({ family, first, last }: AddressRange): string {
  return `${addressFromInt(family, first)}-${addressFromInt(family, last)}`;
}

// Networks from which a pod that does not exist yet may get its address.

/** The networks of the nodes' pods; else networks around the existing pods; else all private networks. */
export function podSpaces(cluster: Cluster): readonly AddressRange[] {
  const given = [...cluster.nodes.values()].flatMap(podCidrsOf);
  if (given.length > 0) return rangesOf(given);
  const pods = [...cluster.pods.values()].filter(isSelectable);
  // Addresses that differ in their last group alone are of one network, and a cluster has many.
  const found = new Map<string, Address>();
  for (const { addresses } of pods)
    for (const address of addresses)
      found.set(address.slice(0, Math.max(address.lastIndexOf('.'), address.lastIndexOf(':'))), address);
  const around = [...found.values()].map(address => networkOf(address, familyOf(address) === 'ip' ? 24 : 64));
  return around.length > 0 ? rangesOf(around) : PRIVATE;
}
