import { getOrMake } from '../lib/collections/getormake.ts';
import {
  type AddressRange,
  addressToInt,
  cidrRange,
  type Family,
  familyOf,
  parseAddress,
  parseCidr,
} from '../model/address.ts';
import type { Node } from '../model/cluster.ts';
import { podCidrsOf } from '../model/podcidrs.ts';
import { mergeRanges } from '../model/ranges.ts';
import { addressType } from '../nft/match.ts';
import { MEMBER, type NftSet, type Ruleset } from '../nft/ruleset.ts';
import { hashedName } from './names.ts';
import { rangeText } from './networks.ts';

const NAME = 'pod-networks';

/**
 * The pod networks of all nodes as one set, named by its content: it is replaced, never changed. Undefined if no node
 * has a network of the family.
 */
export function podNetworks(family: Family, nodes: Iterable<Node>): NftSet | undefined {
  const all = [...nodes].flatMap(rangesOf).filter(range => range.family === family);
  const ranges = mergeRanges(all).map(rangeText);
  if (ranges.length === 0) return undefined;
  return {
    name: hashedName(NAME, ranges.join()),
    key: [addressType(family)],
    verdicts: false,
    interval: true,
    elements: new Map(ranges.map(range => [range, MEMBER])),
  };
}

/** Cached by node object, which never changes: the set of all is made whenever a node comes. */
const RANGES = new WeakMap<Node, readonly AddressRange[]>();

function rangesOf(node: Node): readonly AddressRange[] {
  return getOrMake(RANGES, node, () => [
    ...podCidrsOf(node).map(cidrRange),
    ...(node.lastKnownPodNetworks ?? []).flatMap(rangeOf),
  ]);
}

/** The pod networks of all nodes in programmed rules. */
export function allPodNetworksIn({ tables }: Ruleset): string[] {
  const sets = [...tables.values()].flatMap(table => [...table.sets.values()]);
  return sets
    .filter(({ name }) => name.startsWith(`${NAME}-`))
    .flatMap(({ elements }) => [...elements.keys()]);
}

/** Reads a network, or a range. */
function rangeOf(text: string): AddressRange[] {
  const cidr = parseCidr(text);
  if (cidr !== undefined) return [cidrRange(cidr)];
  const [first, last] = text.split('-').map(parseAddress);
  if (first === undefined || last === undefined) return [];
  return [{ family: familyOf(first), first: addressToInt(first), last: addressToInt(last) }];
}
