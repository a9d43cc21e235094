/** The objects of a document of a manifest, which may be one object or a list. */
import { asMap, typeOf } from '../kube/report/identity.ts';
import { ParseError } from './yaml.ts';

/** One object of a document, and its path there: `` or `items[3]`. */
interface Listed {
  readonly object: unknown;
  readonly path: string;
}

/**
 * The objects of a `List`, `PodList` and so on, also of lists within lists; any other object is itself. Throws ParseError
 * where objects would be lost.
 */
export function flattenLists(
  document: unknown,
  path = '',
  around: readonly unknown[] = [],
): readonly Listed[] {
  const { apiVersion, kind } = typeOf(document);
  const { items } = asMap(document);
  const isEmpty = items === undefined || items === null;
  if (kind === 'List' && !isEmpty && !Array.isArray(items))
    throw new ParseError(`${fieldOf(path, 'items')} is not a list`);
  if (!kind?.endsWith('List') || !Array.isArray(items)) return [{ object: document, path }];
  // A YAML alias can make a list contain itself, many times over.
  if (around.includes(document)) throw new ParseError(`${path} is the list that it is in`);
  if (around.length === DEEPEST)
    throw new ParseError(`${path} is a list in ${DEEPEST} lists, and that is more than is read`);
  // The items of a typed list need not repeat the type that its name implies.
  const itemType = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) };
  return items.flatMap((item, index) =>
    flattenLists(typed(item, itemType), fieldOf(path, `items[${index}]`), [...around, document]),
  );
}

/** Lists are written by programs and not nested deeply. */
const DEEPEST = 8;

/** The same object where it has its type itself. */
function typed(item: unknown, type: object): unknown {
  return isMap(item) && Object.keys(type).some(key => !Object.hasOwn(item, key))
    ? { ...type, ...item }
    : item;
}

function fieldOf(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
