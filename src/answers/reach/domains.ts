/**
 * Domain names as ends: an outside address that a pod got from a DNS answer. Only pods with a rule by name have such
 * addresses, and the network that contains the address matters, too.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { type Family, parseCidr } from '../../model/address.ts';
import { METADATA_SERVICES } from '../../model/metadataservices.ts';
import type { FamilyEnds } from './familyends.ts';
import { familiesOf, outsideRegions, type ReachPlace } from './places.ts';
import type { Reach } from './reach.ts';
import { combine, DIFFERENCE, networkAddresses, type Region, togglesOf } from './regions.ts';

/** A key of how one cluster judges the addresses of a region under a name. */
export type Teller = (region: number) => string;

/**
 * A place for each class of names for which one of these pods has a rule, with everything that is allowed to such addresses. If
 * policies treat some networks differently, for example deny them before the names, these are places of their own.
 */
export function domainPlaces(reach: Reach, pods: readonly ReachPlace[]): ReachPlace[] {
  return reach.clusterIndex.names.flatMap((_, nameClass) => {
    const groups = familiesOf(reach).flatMap(family => {
      const own = new Set(pods.map(({ ends }) => ends[family]));
      const found = matrixGroups(reach, family, nameClass, own);
      return found === undefined ? [] : [[family, found] as const];
    });
    return placesOfClass(reach, nameClass, new Map(groups));
  });
}

/** Undefined if no pod has a rule by such a name. */
function matrixGroups(
  reach: Reach,
  family: Family,
  nameClass: number,
  own: ReadonlySet<number | undefined>,
): number[][] | undefined {
  const { pool, families } = reach;
  const of = families[family];
  const { ends } = of;
  const sources = of.endsResolving(nameClass).filter(end => own.has(end));
  if (sources.length === 0) return undefined;
  const bare = (source: number, region: number) => of.connections(source, ends.outside[region]!);
  const named = (source: number, region: number) =>
    of.connections(source, ends.named(ends.outside[region]!, nameClass));
  const [main = [], ...others] = regionGroups([reach], family, region =>
    sources.map(source => named(source, region).id).join(),
  );
  const isSum = (region: number) =>
    sources.every(source => named(source, region) === pool.or(bare(source, region), named(source, main[0]!)));
  const rest = others.map(group => group.filter(region => !isSum(region)));
  return [[...main, ...others.flat().filter(isSum)], ...rest.filter(({ length }) => length > 0)];
}

/** Groups of regions that are judged alike; the group of the internet is first. */
export function regionGroups(reaches: readonly Reach[], family: Family, teller: Teller): number[][] {
  const groups = new Map<string, number[]>();
  const { largest } = reaches[0]!.families[family].ends.regions;
  const [first, ...others] = reaches.map(reach => regionsOfNames(reach, family));
  const regions =
    others.length === 0 ? first! : first!.filter(region => others.every(each => each.includes(region)));
  const isRest = (region: number) => Number(region === largest);
  for (const region of regions.toSorted((a, b) => isRest(b) - isRest(a)))
    getOrMake(groups, teller(region), () => []).push(region);
  return [...groups.values()];
}

/** The groups of the internet, over IPv4 and over IPv6, are one place. */
export function placesOfClass(
  { families }: Reach,
  nameClass: number,
  groups: ReadonlyMap<Family, readonly number[][]>,
): ReachPlace[] {
  const part = (family: Family, regions: readonly number[]): ReachPlace => {
    const { ends } = families[family];
    return {
      ends: { [family]: ends.named(ends.outside[regions[0]!]!, nameClass) },
      members: [{ kind: 'domain', nameClass, regions: { [family]: regions } }],
    };
  };
  const first = [...groups].flatMap(([family, [main]]) => (main === undefined ? [] : [part(family, main)]));
  const others = [...groups].flatMap(([family, [, ...rest]]) => rest.map(group => part(family, group)));
  return first.length === 0 ? [] : [together(first), ...others];
}

function together(parts: readonly ReachPlace[]): ReachPlace {
  return {
    ends: Object.assign({}, ...parts.map(({ ends }) => ends)),
    members: parts.flatMap(({ members }) => members),
  };
}

/** The regions outside in which DNS may give an address: unknown pods are denied wherever they are. */
export function regionsOfNames(reach: Reach, family: Family): readonly number[] {
  const { ends } = reach.families[family];
  return getOrMake(REGIONS_OF_NAMES, ends, () =>
    outsideRegions(reach, family).filter(
      region =>
        !ends.all[ends.outside[region]!]!.isUnknownPod && isLearnable(family, ends.regions.all[region]!),
    ),
  );
}

const REGIONS_OF_NAMES = new WeakMap<FamilyEnds, readonly number[]>();

/** C56: the addresses that are never learnt from DNS. */
const NEVER = [
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3'],
  ...['::/80', 'fe80::/10', 'ff00::/8'],
  ...['64:ff9b::/104', '64:ff9b::7f00:0/104', '64:ff9b::a9fe:0/112', '64:ff9b::e000:0/99'],
  ...[...METADATA_SERVICES].flatMap(service =>
    service.includes(':') ? [`${service}/128`] : [`${service}/32`, `64:ff9b::${service}/128`],
  ),
].map(text => parseCidr(text)!);

/** Whether some of its addresses are. */
function isLearnable(family: Family, { addresses }: Region): boolean {
  return combine(togglesOf(addresses, 1n), networkAddresses(family, NEVER), DIFFERENCE).length > 0;
}
