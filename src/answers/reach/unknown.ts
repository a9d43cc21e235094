/** What an answer about all connections leaves open, and what it was made from. */

import { firstOf } from '../../lib/text/firstof.ts';
import { plural } from '../../lib/text/plural.ts';
import { type AddressRange, cidrText, type Family } from '../../model/address.ts';
import type { NetworkPeer } from '../../model/policy.ts';
import { cidrsOf } from '../../model/ranges.ts';
import { podSpaces, rangesText } from '../questions/ranges.ts';
import { familiesOf } from './places.ts';
import type { Reach } from './reach.ts';

/** How much was compared or judged. */
export interface Counts {
  readonly workloads: number;
  readonly policies: number;
}

/** `12 workloads and 7 policies`. */
export function countsText({ workloads, policies }: Counts): string {
  return `${plural(workloads, 'workload')} and ${plural(policies, 'policy')}`;
}

/** The networks that `internet` leaves out, because policies tell them apart from the rest. */
export function networksBesideInternet(reach: Reach): string[] {
  return familiesOf(reach).flatMap(family => {
    const { all, largest } = reach.families[family].ends.regions;
    const others = all.flatMap(({ addresses }, i) => (i === largest ? [] : addresses));
    return others.flatMap(range => cidrsOf({ family, ...range }).map(cidrText));
  });
}

/**
 * Says that policies tell addresses apart that pods may get which have none yet, and as which ones these are judged.
 * `who` are these pods.
 */
export function unknownAddressNotes(reach: Reach, who: string): string[] {
  const spaces = podSpaces(reach.clusterIndex.cluster);
  const notes = familiesOf(reach).map(family => {
    const ranges = spaces.filter(range => range.family === family);
    const { inside, outside } = networksThatCut(reach, family, ranges);
    const parts = [...partText('outside', outside), ...partText('inside', inside)];
    return parts.length === 0
      ? []
      : [
          `${who} may have any address of ${rangesText(ranges)}, and are judged as if theirs were ${parts.join(' and ')}`,
        ];
  });
  return notes.flat();
}

function partText(where: string, networks: readonly string[]): string[] {
  return networks.length === 0 ? [] : [`${where} ${firstOf(networks, MOST_NAMED)}`];
}

const MOST_NAMED = 4;

/** Networks of policies that hold some of these addresses and not others, by whether pods are judged as inside. */
function networksThatCut(
  { families, clusterIndex }: Reach,
  family: Family,
  ranges: readonly AddressRange[],
): { readonly inside: readonly string[]; readonly outside: readonly string[] } {
  const { regions, home } = families[family].ends;
  const meets = ({ first, last }: Omit<AddressRange, 'family'>) =>
    ranges.some(range => range.first <= last && first <= range.last);
  const possible = regions.all.filter(({ addresses }) => addresses.some(meets));
  const cutting = [...clusterIndex.vocabulary.networks.values()].flatMap((network, i) => {
    const holding = possible.filter(({ networks }) => networks.has(i)).length;
    return holding > 0 && holding < possible.length ? [{ network, i }] : [];
  });
  const named = (isInside: boolean) =>
    cutting.flatMap(({ network, i }) =>
      regions.all[home]!.networks.has(i) === isInside ? [networkName(network)] : [],
    );
  return { inside: [...new Set(named(true))], outside: [...new Set(named(false))] };
}

function networkName({ cidr, except }: NetworkPeer): string {
  return except.length === 0 ? cidrText(cidr) : `${cidrText(cidr)} except ${except.map(cidrText).join(', ')}`;
}
