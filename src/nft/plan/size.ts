/**
 * The room that a set is declared with. A declared size makes the kernel's hash faster, and is a hard limit: one
 * element more is ENFILE. Kernels before 6.5 cannot raise it, and later ones leave the hash as narrow as it was, so a set
 * that grows out of its room is made anew.
 */
import { textHash } from '../../lib/text/texthash.ts';
import type { NftSet } from '../ruleset.ts';

const LEAST = 256;

/**
 * At least twice as many as there are, so that a set that grows is made anew once per doubling; and up to half of that more,
 * by its name, so that hundreds of sets that grow alike are not made anew all at once.
 */
export function roomFor(name: string, count: number): number {
  const room = Math.max(LEAST, 2 * count);
  return room + (textHash(name) % (room / 2));
}

/** The size to declare for a set that is made. */
export function sizeOf(set: NftSet): number {
  return set.dynamic?.size ?? roomFor(set.name, slots(set));
}

/** Whether a set in the kernel has room for what `desired` holds. Of unknown size: it is taken to have. */
export function hasRoomFor(actual: NftSet, desired: NftSet): boolean {
  return desired.dynamic !== undefined || actual.size === undefined || slots(desired) <= actual.size;
}

/** Kernels that do not know better count both ends of an interval. */
function slots({ interval, elements }: NftSet): number {
  return interval ? 2 * elements.size : elements.size;
}
