/** Names of the DNS as ends in words: by their patterns, and where policies say otherwise of some networks, by those too. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import type { Family } from '../../model/address.ts';
import { toldRegions } from './domains.ts';
import { INTERNET_TEXT, networkText } from './networktext.ts';
import { type DomainMember, familiesOf, type Member } from './place.ts';
import type { Reach } from './reach.ts';

/** `*.example.org`; where not all addresses are meant, `*.example.org outside 10.0.0.0/8`, `*.example.org in 10.0.0.0/8`. */
export function domainTexts(reach: Reach, members: readonly Member[]): string[] {
  const parts = members.filter((member): member is DomainMember => member.kind === 'domain');
  const byClass = new Map<number, Set<string>>();
  for (const { nameClass, regions } of parts)
    for (const [family, some] of Object.entries(regions) as [Family, readonly number[]][])
      for (const region of some) getOrMake(byClass, nameClass, () => new Set()).add(`${family} ${region}`);
  const all = everywhere(reach);
  return [...byClass].flatMap(([nameClass, found]) => {
    const where = whereText(reach, all, found);
    return reach.landscape.names[nameClass]!.patterns.map(pattern => `${pattern}${where}`);
  });
}

/** The internet is what is outside of networks; without it, it is these networks. */
function whereText(reach: Reach, all: readonly string[], found: ReadonlySet<string>): string {
  const missing = all.filter(region => !found.has(region));
  if (missing.length === 0) return '';
  const others = namesOf(reach, missing);
  return others.includes(INTERNET_TEXT)
    ? ` in ${firstOf(namesOf(reach, [...found]), MOST_NETWORKS)}`
    : ` outside ${firstOf(others, MOST_NETWORKS)}`;
}

/** They stand beside each of the patterns: all networks of a large cluster would be no text any more. */
const MOST_NETWORKS = 8;

function namesOf(reach: Reach, regions: readonly string[]): string[] {
  return [...new Set(regions.flatMap(region => networkText(reach, regionOf(region))))];
}

function everywhere(reach: Reach): string[] {
  return familiesOf(reach).flatMap(family => toldRegions(reach, family).map(region => `${family} ${region}`));
}

function regionOf(text: string) {
  const [family, region] = text.split(' ');
  return { [family!]: Number(region) };
}
