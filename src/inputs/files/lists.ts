/** The objects of a document of a manifest, which may be one object or a list. */
import { asMap, typeOf } from '../kube/report/identity.ts';

/** One object of a document, and its path there: `` or `items[3]`. */
interface Listed {
  readonly object: unknown;
  readonly path: string;
}

/** The objects of a `List`, `PodList` and so on, also of lists within lists; any other object is itself. */
export function flattenLists(document: unknown, path = ''): readonly Listed[] {
  const { apiVersion, kind } = typeOf(document);
  const { items } = asMap(document);
  if (!kind?.endsWith('List') || !Array.isArray(items) || path.length > DEEPEST_PATH)
    return [{ object: document, path }];
  // The items of a typed list need not repeat the type that its name implies.
  const itemType = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) };
  return items.flatMap((item, index) =>
    flattenLists(isMap(item) ? { ...itemType, ...item } : item, fieldOf(path, `items[${index}]`)),
  );
}

/** Lists are written by programs and not nested deeply, but a YAML alias can make a list contain itself. */
const DEEPEST_PATH = 80;

function fieldOf(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
