/** What changes alike over IPv4 and over IPv6 is one change; networks of each have other names, and mean it of their own. */
import { getOrMake } from '../../../lib/collections/getormake.ts';
import type { Change } from './changes.ts';

/** Some of the ends of a change by name: networks, whose addresses say of which family they are, apart. */
export interface NamedUnits {
  readonly networks: readonly string[];
  readonly others: readonly string[];
}

export type NamedChange = Omit<Change, 'from' | 'to'> & {
  readonly from: NamedUnits;
  readonly to: NamedUnits;
};

export function inBothFamilies(changes: readonly NamedChange[]): NamedChange[] {
  const found = new Map<string, NamedChange[]>();
  for (const change of changes) getOrMake(found, textOf(change), () => []).push(change);
  return [...found.values()].flatMap(alike => (isOfEachFamily(alike) ? [joined(alike)] : alike));
}

/** What is the same but for families and networks. */
function textOf({ kind, connections, before, after, from, to }: NamedChange): string {
  return JSON.stringify([kind, connections.id, before, after, from.others, to.others]);
}

/** Of several in one family nobody could tell which of them belongs to which of the other. */
function isOfEachFamily(alike: readonly NamedChange[]): boolean {
  const families = alike.flatMap(change => change.families);
  return alike.length === 2 && families.length === 2 && families[0] !== families[1];
}

function joined(alike: readonly NamedChange[]): NamedChange {
  const ends = (which: 'from' | 'to') => ({
    networks: alike.flatMap(change => change[which].networks),
    others: alike[0]![which].others,
  });
  return {
    ...alike[0]!,
    families: alike.flatMap(({ families }) => families),
    from: ends('from'),
    to: ends('to'),
  };
}
