import { asMap } from '../report/identity.ts';

/** `metadata.resourceVersion` of an object or a list, where it has one. */
export function revisionOf(object: unknown): string | undefined {
  const { resourceVersion } = asMap(asMap(object).metadata);
  return typeof resourceVersion === 'string' && resourceVersion !== '' ? resourceVersion : undefined;
}

/**
 * Whether `now` lies before `then`: the server's storage was rolled back. Revisions of one resource are integers
 * that compare (KEP-5504); of any other text nobody can say.
 */
export function isRolledBack(now: string, then: string): boolean {
  return /^\d+$/.test(now) && /^\d+$/.test(then) && BigInt(now) < BigInt(then);
}
