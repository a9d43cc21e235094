import { getOrMake } from '../collections/getormake.ts';

const texts = new WeakMap<object, string>();

/**
 * A text that is equal for objects with equal content, such as selectors and peers, of which many are written alike.
 * Computed once for each object.
 */
export function contentText(object: object): string {
  return getOrMake(texts, object, () => JSON.stringify(object));
}
