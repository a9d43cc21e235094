/**
 * The declared size of a set. It makes the kernel's hash table faster, and is a hard limit: one element more is ENFILE.
 * Kernels before 6.5 cannot raise it, and later ones do not enlarge the hash table, so a set that outgrows its size is
 * created again.
 */
import { textHash } from '../../lib/text/texthash.ts';
import type { NftSet } from '../ruleset.ts';

const LEAST = 256;

/**
 * At least twice as many as there are, so that a growing set is created again once per doubling. Its name adds up to
 * half of that, so that hundreds of sets which grow alike are not created again at once.
 */
export function roomFor(name: string, count: number): number {
  const room = Math.max(LEAST, 2 * count);
  return room + (textHash(name) % (room / 2));
}

/** The size to declare for a new set. */
export function sizeOf(set: NftSet): number {
  return set.dynamic?.size ?? roomFor(set.name, slots(set));
}

/**
 * Whether a set in the kernel has room for the elements of `desired`. A set of unknown size is assumed to have room.
 */
export function hasRoomFor(actual: NftSet, desired: NftSet): boolean {
  return desired.dynamic !== undefined || actual.size === undefined || slots(desired) <= actual.size;
}

/** Older kernels count both ends of an interval. */
function slots({ interval, elements }: NftSet): number {
  return interval ? 2 * elements.size : elements.size;
}
