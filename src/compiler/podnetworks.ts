import type { Cidr, Family } from '../model/address.ts';
import type { Node } from '../model/cluster.ts';
import { podCidrsOf } from '../model/podcidrs.ts';
import { addressType } from '../nft/match.ts';
import { MEMBER, type NftSet } from '../nft/ruleset.ts';
import { hashedName } from './names.ts';
import { peerRanges, rangeText } from './networks.ts';

/**
 * The pod networks of all nodes, as one set that is named by what it holds: it is never changed, but replaced. Undefined
 * where no node has one of the family.
 */
export function podNetworks(family: Family, nodes: Iterable<Node>): NftSet | undefined {
  const cidrs: Cidr[] = [...nodes].flatMap(podCidrsOf).filter(cidr => cidr.family === family);
  const ranges = peerRanges(cidrs.map(cidr => ({ kind: 'network', cidr, except: [] }))).map(rangeText);
  if (ranges.length === 0) return undefined;
  return {
    name: hashedName('pod-networks', ranges.join()),
    key: [addressType(family)],
    verdicts: false,
    interval: true,
    elements: new Map(ranges.map(range => [range, MEMBER])),
  };
}
