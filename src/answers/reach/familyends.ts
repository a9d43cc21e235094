/** The ends of one family of a cluster, and which one an address is. */
import { type Address, type Family, familyOf } from '../../model/address.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import type { Landscape } from './landscape.ts';
import { networkAddresses, type Regions, regionsOf } from './regions.ts';

export interface FamilyEnds {
  readonly family: Family;
  readonly all: readonly End[];
  readonly regions: Regions;
  /** The index of the end that an address is. */
  at(address: Address): number;
  /** The end that a pod sees in this one where it was told the address under a name of the class; none of `all`. */
  named(end: number, nameClass: number): number;
  /** Of one that is `named`, without and with its class. */
  bare(end: number): number;
  nameClassOf(end: number): number | undefined;
  /** Of each region, the addresses that no pod and no node has. */
  readonly outside: readonly number[];
  /** Of the imagined pods, in their order. */
  readonly imagined: readonly number[];
}

export function familyEndsOf(family: Family, landscape: Landscape): FamilyEnds {
  const { owners, nodes, templateOf, imagined } = landscape;
  const table = new EndTable();
  const regions = regionsOfLandscape(family, landscape);
  const isOut = (region: number) => ({
    isOutside: areAskedFor(landscape) && !isPodNetwork(regions, region, landscape),
  });
  const ofPod = (template: number, region: number, address?: Address) =>
    table.add({
      template,
      region,
      ...nodeParts(landscape, address),
      ...isOut(region),
      isUnknownPod: false,
    });
  const ofRegion = (region: number) =>
    table.add({
      region,
      ...NO_NODE,
      ...isOut(region),
      isUnknownPod: landscape.unknownPods === 'deny' && isPodNetwork(regions, region, landscape),
    });
  const at = (address: Address): number => {
    const region = regions.at(address);
    const owner = owners.get(address);
    if (owner !== undefined) return ofPod(templateOf.get(owner)!, region, address);
    if (!nodes.has(address)) return ofRegion(region);
    return table.add({ region, ...nodeParts(landscape, address), ...isOut(region), isUnknownPod: false });
  };
  for (const address of [...owners.keys(), ...nodes.keys()]) if (familyOf(address) === family) at(address);
  const outside = [...regions.all.keys()].map(ofRegion);
  const home = homeRegion(family, regions, landscape);
  const ofImagined = imagined.map(template => ofPod(template, home));
  return { family, all: table.all, regions, at, outside, imagined: ofImagined, ...naming(table.all.length) };
}

/** Ends with names are numbered beyond those without: as many again for each class, and none of them is kept. */
function naming(count: number): Pick<FamilyEnds, 'named' | 'bare' | 'nameClassOf'> {
  return {
    named: (end, nameClass) => (nameClass + 1) * count + end,
    bare: end => end % count,
    nameClassOf: end => (end < count ? undefined : Math.floor(end / count) - 1),
  };
}

const NO_NODE = { nodeSelectors: [], isTunnelEnd: false } as const;

function nodeParts(
  { nodes, tunnels, tunnelLinks }: Landscape,
  address: Address | undefined,
): Pick<End, 'nodeSelectors' | 'isTunnelEnd'> {
  const node = address === undefined ? undefined : nodes.get(address);
  return node === undefined
    ? NO_NODE
    : {
        nodeSelectors: node.nodeSelectors,
        isTunnelEnd: tunnelLinks.podTunnels !== 'allow' && tunnels.endAt(address!) !== undefined,
      };
}

/** The networks of the vocabulary by their index, and after them the pod networks of each cluster, where they matter. */
function regionsOfLandscape(family: Family, landscape: Landscape): Regions {
  const { vocabulary, alongside } = landscape;
  const networks = [...vocabulary.networks.values()].map(({ cidr, except }) =>
    networkAddresses(family, [cidr], except),
  );
  const podNetworks = alongside.map(({ nodes }) =>
    networkAddresses(family, areAskedFor(landscape) ? [...nodes.values()].flatMap(podCidrsOf) : []),
  );
  return regionsOf(family, [...networks, ...podNetworks]);
}

/** Whether it matters what is in a pod network: for unknown pods, or for tunnels, which do not leave them. */
function areAskedFor({ unknownPods, tunnelLinks }: Landscape): boolean {
  return unknownPods === 'deny' || tunnelLinks.tunnels !== undefined;
}

function isPodNetwork(
  { all }: Regions,
  region: number,
  { vocabulary, alongside, cluster }: Landscape,
): boolean {
  return all[region]!.networks.has(vocabulary.networks.size + alongside.indexOf(cluster));
}

/** Where most pods have their addresses, and so where one that is not there yet would have its own. */
function homeRegion(family: Family, regions: Regions, { owners, cluster }: Landscape): number {
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
 * The ends that connections of one family can have. All addresses of which policies can tell the same are one end:
 * pods of one template and region, nodes of the same selectors, and what is left of each region.
 */
export interface End {
  /** The index of its pods' template; absent where no pod has the addresses. */
  readonly template?: number;
  /** The index of its region. */
  readonly region: number;
  /** The node selectors that mean it, by index. */
  readonly nodeSelectors: readonly number[];
  /** Addresses of nodes, as all nodes know them: tunnels end there. */
  readonly isTunnelEnd: boolean;
  /** Outside of the pod networks, where that matters: what is for a tunnel that nodes have does not go there. */
  readonly isOutside: boolean;
  /** Addresses of pod networks that no known pod has, where such are denied. */
  readonly isUnknownPod: boolean;
}

class EndTable {
  readonly #all: End[] = [];
  readonly #byText = new Map<string, number>();

  get all(): readonly End[] {
    return this.#all;
  }

  /** Its index; the same for the same. */
  add(end: End): number {
    const { template, region, nodeSelectors, isTunnelEnd, isOutside, isUnknownPod } = end;
    const text = `${template}/${region}/${nodeSelectors}/${isTunnelEnd}/${isOutside}/${isUnknownPod}`;
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    this.#byText.set(text, this.#all.length);
    return this.#all.push(end) - 1;
  }
}
