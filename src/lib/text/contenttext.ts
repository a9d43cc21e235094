import { getOrMake } from '../collections/getormake.ts';

const texts = new WeakMap<object, string>();

/** The same for objects that mean the same: selectors and peers, of which many are written alike. Made once for each object. */
export function contentText(object: object): string {
  return getOrMake(texts, object, () => JSON.stringify(object));
}
