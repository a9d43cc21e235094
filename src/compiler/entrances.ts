/**
 * InternalIPs of nodes, by which networks mean them, and the networks that contain some. As numbers, as ranges are.
 */
import { getOrMake } from '../lib/collections/getormake.ts';
import {
  type Address,
  type AddressRange,
  addressToInt,
  FAMILIES,
  type Family,
  familyOf,
} from '../model/address.ts';
import { internalIpsOf, type Node } from '../model/cluster.ts';
import type { NetworkPeer } from '../model/policy.ts';
import { peerRanges, rangesContain } from './networks.ts';

/** A network with its exceptions, of a policy. */
export type Network = Pick<NetworkPeer, 'cidr' | 'except'>;

export type Numbers = Readonly<Record<Family, readonly bigint[]>>;

export function numbersOf(addresses: readonly Address[]): Numbers {
  const of = (family: Family) => addresses.filter(each => familyOf(each) === family).map(addressToInt);
  return { ip: of('ip'), ip6: of('ip6') };
}

/** Cached by node object, which never changes. */
const ENTRANCES = new WeakMap<Node, Numbers>();

export function entrancesOf(node: Node): Numbers {
  return getOrMake(ENTRANCES, node, () => numbersOf(internalIpsOf(node)));
}

/** Cached by object: every node is compared with every network. */
const RANGES = new WeakMap<Network, AddressRange[]>();

export function containsAny(network: Network, addresses: readonly bigint[]): boolean {
  if (addresses.length === 0) return false;
  const ranges = rangesOf(network);
  for (const address of addresses) if (rangesContain(ranges, address)) return true;
  return false;
}

export function rangesOf(network: Network): AddressRange[] {
  return RANGES.get(network) ?? newRanges(network);
}

function newRanges(network: Network): AddressRange[] {
  const ranges = peerRanges([network]);
  RANGES.set(network, ranges);
  return ranges;
}

/** The InternalIPs of all nodes with tunnels in order, so that a network with none of them costs no look at each. */
export class Entrances {
  readonly #sorted: Record<Family, bigint[]> = { ip: [], ip6: [] };
  readonly #nodes: Record<Family, Map<bigint, Set<string>>> = { ip: new Map(), ip6: new Map() };

  move(name: string, before: Numbers | undefined, now: Numbers | undefined): void {
    for (const family of FAMILIES) {
      for (const address of before?.[family] ?? []) this.#delete(family, address, name);
      for (const address of now?.[family] ?? []) this.#add(family, address, name);
    }
  }

  /** The nodes with an InternalIP in the ranges. */
  *within(ranges: readonly AddressRange[]): Generator<string> {
    for (const { family, first, last } of ranges) {
      const sorted = this.#sorted[family];
      for (let i = placeIn(sorted, first); i < sorted.length && sorted[i]! <= last; i++)
        yield* this.#nodes[family].get(sorted[i]!)!;
    }
  }

  #add(family: Family, address: bigint, name: string): void {
    const sorted = this.#sorted[family];
    const nodes = getOrMake(this.#nodes[family], address, () => new Set());
    if (nodes.size === 0) sorted.splice(placeIn(sorted, address), 0, address);
    nodes.add(name);
  }

  #delete(family: Family, address: bigint, name: string): void {
    const sorted = this.#sorted[family];
    const nodes = this.#nodes[family].get(address);
    if (!nodes?.delete(name) || nodes.size > 0) return;
    this.#nodes[family].delete(address);
    sorted.splice(placeIn(sorted, address), 1);
  }
}

/** The index of the first that is not smaller. */
function placeIn(sorted: readonly bigint[], address: bigint): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < address) low = middle + 1;
    else high = middle;
  }
  return low;
}
