/** The ends of one family of a cluster, and which one an address is. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { assertNever } from '../../lib/text/assert.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import {
  type Address,
  type AddressRange,
  addressToInt,
  type Cidr,
  cidrText,
  type Family,
  familyOf,
} from '../../model/address.ts';
import { takenAddresses } from '../../model/addressowners.ts';
import type { Cluster } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import type { NetworkPeer, Peer, Rule } from '../../model/policy.ts';
import { mergeRanges } from '../../model/ranges.ts';
import type { PodSelector } from '../../model/selector.ts';
import { contains, podSpaces } from '../questions/ranges.ts';
import { Bits } from './bits.ts';
import type { ClusterIndex } from './clusterindex.ts';
import type { NodeMeaning } from './nodeends.ts';
import { networkAddresses, type Range, type Regions, regionsOf } from './regions.ts';
import type { Selected } from './templates.ts';

export interface FamilyEnds {
  readonly family: Family;
  readonly all: readonly End[];
  readonly regions: Regions;
  /** The networks that the regions follow from. */
  readonly networksText: string;
  /** The regions in which pods without an address may be; none if nothing is known of it. */
  readonly possible: readonly number[];
  /** The ends of pods without an address, where they may be in several regions. */
  readonly unknown: readonly number[];
  /** The index of the end that an address is. */
  at(address: Address): number;
  /** The end as a pod sees it that has the address by a name of the class; it is not in `all`. */
  named(end: number, nameClass: number): number;
  /** The end without its class of names, if it is one of `named`. */
  bare(end: number): number;
  nameClassOf(end: number): number | undefined;
  /** For each region, the end for addresses of no pod and no node. */
  readonly outside: readonly number[];
  /** The end of each imagined pod, in their order. */
  readonly imagined: readonly number[];
}

/** `before` are some of this family, of which the regions are taken over where they are the same. */
export function familyEndsOf(
  family: Family,
  clusterIndex: ClusterIndex,
  before: readonly FamilyEnds[] = [],
): FamilyEnds {
  const { owners, nodes, templateOf, imagined } = clusterIndex;
  const table = new EndTable();
  const podNetworks = podNetworksOf(clusterIndex);
  const networksText = JSON.stringify([
    [...clusterIndex.vocabulary.networks.keys()],
    podNetworks.map(cidrs => cidrs.map(cidrText)),
  ]);
  const regions =
    before.find(each => each.networksText === networksText)?.regions ??
    regionsOfIndex(family, clusterIndex, podNetworks);
  const isOut = (region: number) => ({
    isOutside: areAskedFor(clusterIndex) && !isPodNetwork(regions, region, clusterIndex),
  });
  const ofPod = (template: number, region: number, address?: Address) =>
    table.add({
      template,
      region,
      ...nodeParts(clusterIndex, address),
      ...isOut(region),
      isUnknownPod: false,
    });
  const ofRegion = (region: number) =>
    table.add({
      region,
      ...NO_NODE,
      ...isOut(region),
      isUnknownPod: clusterIndex.unknownPods === 'deny' && isPodNetwork(regions, region, clusterIndex),
    });
  const at = (address: Address): number => {
    const region = regions.at(address);
    const owner = owners.get(address);
    if (owner !== undefined) return ofPod(templateOf.get(owner)!, region, address);
    if (!nodes.has(address)) return ofRegion(region);
    const isUnknownPod = clusterIndex.nodeDenyingUnknownPod(address) !== undefined;
    return table.add({ region, ...nodeParts(clusterIndex, address), ...isOut(region), isUnknownPod });
  };
  for (const address of [...owners.keys(), ...nodes.keys()]) if (familyOf(address) === family) at(address);
  const outside = [...regions.all.keys()].map(ofRegion);
  const possible = imagined.length === 0 ? [] : possibleRegions(family, regions, clusterIndex);
  const home = possible[0] ?? homeRegion(family, regions, clusterIndex);
  const ofImagined = imagined.map(template => {
    if (possible.length < 2) return ofPod(template, home);
    const oneOf = possible.map(region => ofPod(template, region));
    return table.add({ ...table.all[oneOf[0]!]!, oneOf });
  });
  return {
    family,
    all: table.all,
    regions,
    networksText,
    possible,
    unknown: possible.length < 2 ? [] : [...new Set(ofImagined)],
    at,
    outside,
    imagined: ofImagined,
    ...naming(table.all.length),
  };
}

/** As `explain` judges pods without an address: where there is room for one in the pod networks of all clusters compared. */
function possibleRegions(family: Family, { all, at }: Regions, { alongside }: ClusterIndex): number[] {
  const merged = getOrMake(SPACES, alongside, () => mergeRanges(alongside.flatMap(podSpaces)));
  const spaces = merged.filter(range => range.family === family);
  const rooms = all.map(({ addresses }) => roomIn(addresses, spaces));
  const meeting = [...rooms.keys()].filter(region => rooms[region]! > 0n);
  if (meeting.length < 2) return meeting;
  const taken = new Set(alongside.flatMap(cluster => [...takenAddresses(cluster)]));
  const isInside = (address: Address) =>
    familyOf(address) === family && contains(spaces, family, addressToInt(address));
  for (const address of taken) if (isInside(address)) rooms[at(address)]! -= 1n;
  return meeting.filter(region => rooms[region]! > 0n);
}

/** The pod networks of clusters that are compared, for both families and both sides. */
const SPACES = new WeakMap<readonly Cluster[], readonly AddressRange[]>();

/** How many addresses of the ranges are in these spaces, which are apart. */
function roomIn(ranges: readonly Range<bigint>[], spaces: readonly Range<bigint>[]): bigint {
  let sum = 0n;
  for (const range of ranges)
    for (const space of spaces) {
      const first = range.first > space.first ? range.first : space.first;
      const last = range.last < space.last ? range.last : space.last;
      if (first <= last) sum += last - first + 1n;
    }
  return sum;
}

/** Ends with names are numbered beyond those without: as many again for each class, and none of them is kept. */
function naming(count: number): Pick<FamilyEnds, 'named' | 'bare' | 'nameClassOf'> {
  return {
    named: (end, nameClass) => (nameClass + 1) * count + end,
    bare: end => end % count,
    nameClassOf: end => (end < count ? undefined : Math.floor(end / count) - 1),
  };
}

const NOT_MEANT: NodeMeaning = { nodeSelectors: [], networks: [] };
const NO_NODE = { accepted: NOT_MEANT, denied: NOT_MEANT, isTunnelEnd: false } as const;

function nodeParts(
  { nodes, tunnels, tunnelLinks }: ClusterIndex,
  address: Address | undefined,
): Pick<End, 'accepted' | 'denied' | 'isTunnelEnd'> {
  const node = address === undefined ? undefined : nodes.get(address);
  if (node === undefined) return NO_NODE;
  const { accepted, denied } = node;
  const isEnd = tunnels.endAt(address!) !== undefined;
  return { accepted, denied, isTunnelEnd: tunnelLinks.podTunnels !== 'allow' && isEnd };
}

/** The networks of the vocabulary by their index, and after them the pod networks of each cluster, where they matter. */
function regionsOfIndex(
  family: Family,
  { vocabulary }: ClusterIndex,
  podNetworks: readonly (readonly Cidr[])[],
): Regions {
  const networks = [...vocabulary.networks.values()].map(({ cidr, except }) =>
    networkAddresses(family, [cidr], except),
  );
  return regionsOf(family, [...networks, ...podNetworks.map(cidrs => networkAddresses(family, cidrs))]);
}

function podNetworksOf(clusterIndex: ClusterIndex): readonly (readonly Cidr[])[] {
  return clusterIndex.alongside.map(({ nodes }) =>
    areAskedFor(clusterIndex) ? [...nodes.values()].flatMap(podCidrsOf) : [],
  );
}

/**
 * Whether it matters that an address is in a pod network: for unknown pods, or for tunnels, which do not leave these
 * networks.
 */
function areAskedFor({ unknownPods, tunnelLinks }: ClusterIndex): boolean {
  return unknownPods === 'deny' || tunnelLinks.tunnels !== undefined;
}

function isPodNetwork(
  { all }: Regions,
  region: number,
  { vocabulary, alongside, cluster }: ClusterIndex,
): boolean {
  return all[region]!.networks.has(vocabulary.networks.size + alongside.indexOf(cluster));
}

/** Where most pods have their addresses, and so where one that is not there yet would have its own. */
function homeRegion(family: Family, regions: Regions, { owners, cluster }: ClusterIndex): number {
  const counts = new Map<number, number>();
  for (const address of owners.keys()) {
    if (familyOf(address) !== family) continue;
    const region = regions.at(address);
    counts.set(region, (counts.get(region) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  if (most !== undefined) return most[0];
  const networks = [...cluster.nodes.values()].flatMap(podCidrsOf);
  const first = networks.find(cidr => cidr.family === family);
  return first === undefined ? regions.largest : regions.at(first.base);
}

/**
 * The ends that connections of one family can have. All addresses that policies treat alike are one end:
 * pods of one template and region, nodes of the same selectors, and what is left of each region.
 */
export interface End {
  /** The index of its pods' template; absent where no pod has the addresses. */
  readonly template?: number;
  /** The index of its region. */
  readonly region: number;
  /** What means it, because it is a node's, in rules that accept, and in those that deny or pass. */
  readonly accepted: NodeMeaning;
  readonly denied: NodeMeaning;
  /** Addresses of nodes, as all nodes know them: tunnels end there. */
  readonly isTunnelEnd: boolean;
  /** Outside of the pod networks, if that matters: packets for tunnels of nodes do not go there. */
  readonly isOutside: boolean;
  /** Addresses of pod networks that no known pod has, where such are denied. */
  readonly isUnknownPod: boolean;
  /** The ends that a pod without an address may turn out to be, in the order of their regions; its `region` is the first. */
  readonly oneOf?: readonly number[];
}

class EndTable {
  readonly #all: End[] = [];
  readonly #byText = new Map<string, number>();

  get all(): readonly End[] {
    return this.#all;
  }

  /** Returns the index of the end; equal ends share one. */
  add(end: End): number {
    const text = textOfEnd(end);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    this.#byText.set(text, this.#all.length);
    return this.#all.push(end) - 1;
  }
}

function textOfEnd({ template, region, accepted, denied, oneOf, ...is }: End): string {
  const where = oneOf === undefined ? region : 'unknown';
  const ofNode = `${textOfMeaning(accepted)}/${textOfMeaning(denied)}/${is.isTunnelEnd}`;
  return `${template}/${where}/${ofNode}/${is.isOutside}/${is.isUnknownPod}`;
}

function textOfMeaning({ nodeSelectors, networks }: NodeMeaning): string {
  return `${nodeSelectors}/${networks}`;
}

// The ends of a family that each peer of a rule selects.

export class PeerSets {
  readonly #clusterIndex: ClusterIndex;
  readonly #ends: FamilyEnds;
  readonly #known = new Map<string, Selected>();
  /** The ends of each template. */
  readonly #byTemplate: readonly number[][];
  readonly #networks: ReadonlyMap<string, number>;
  readonly #nodes: ReadonlyMap<string, number>;
  readonly everybody: Selected;

  constructor(clusterIndex: ClusterIndex, ends: FamilyEnds) {
    this.#clusterIndex = clusterIndex;
    this.#ends = ends;
    this.#byTemplate = clusterIndex.templates.all.map(() => []);
    for (const [i, { template }] of ends.all.entries())
      if (template !== undefined) this.#byTemplate[template]!.push(i);
    this.#networks = indexed(clusterIndex.vocabulary.networks);
    this.#nodes = indexed(clusterIndex.vocabulary.nodes);
    this.everybody = sure(Bits.full(ends.all.length));
  }

  /** N12: the ends that any of the peers selects, and those that one may select. `resolved` are the patterns that match a name of the peer. */
  of({ peers, action }: Pick<Rule, 'peers' | 'action'>, resolved: ReadonlySet<string>): Selected {
    if (peers === 'any') return this.everybody;
    // C41: an address has a name only for the pod that DNS gave it to, whatever end it is.
    if (peers.some(peer => peer.kind === 'domain' && resolved.has(peer.name))) return this.everybody;
    const as = action === 'accept' ? 'accepted' : 'denied';
    const all = peers.map(peer =>
      getOrMake(this.#known, `${as} ${contentText(peer)}`, () => this.#one(peer, as)),
    );
    if (all.length === 1) return all[0]!;
    const none = new Bits(this.#ends.all.length);
    const yes = all.reduce((sum, each) => sum.or(each.yes), none);
    return { yes, indeterminate: all.reduce((sum, each) => sum.or(each.indeterminate), none).minus(yes) };
  }

  #one(peer: Peer, as: 'accepted' | 'denied'): Selected {
    switch (peer.kind) {
      case 'pods':
        return this.#pods(peer.selector);
      case 'network':
        return sure(this.#network(peer, as));
      case 'nodes': {
        const index = this.#nodes.get(contentText(peer.selector))!;
        return sure(this.#where(end => end[as].nodeSelectors.includes(index)));
      }
      case 'domain': // names are handled by `of`
        return sure(this.#where(() => false));
      default:
        return assertNever(peer);
    }
  }

  #pods(selector: PodSelector): Selected {
    const { yes, indeterminate } = this.#clusterIndex.selected.of(selector);
    return { yes: this.#ofTemplates(yes), indeterminate: this.#ofTemplates(indeterminate) };
  }

  #ofTemplates(templates: Bits): Bits {
    const found = new Bits(this.#ends.all.length);
    for (const template of templates) for (const end of this.#byTemplate[template]!) found.add(end);
    return found;
  }

  #network(peer: NetworkPeer, as: 'accepted' | 'denied'): Bits {
    const index = this.#networks.get(contentText(peer))!;
    const regions = this.#ends.regions.all;
    return this.#where(end => regions[end.region]!.networks.has(index) || end[as].networks.includes(index));
  }

  #where(holds: (end: FamilyEnds['all'][number]) => boolean): Bits {
    const { all } = this.#ends;
    return Bits.of(
      all.length,
      (function* () {
        for (const [i, end] of all.entries()) if (holds(end)) yield i;
      })(),
    );
  }
}

function sure(yes: Bits): Selected {
  return { yes, indeterminate: new Bits(yes.size) };
}

function indexed(words: ReadonlyMap<string, unknown>): Map<string, number> {
  return new Map([...words.keys()].map((text, i) => [text, i]));
}
