/**
 * What an API server delivers as an object of one type. The server says what the object is; where that is another type
 * than was asked for, or a part is missing that every stored object of the type has, nothing in it is believed but its
 * name: what was asked for under that name exists, and nobody can read it.
 */
import { asMap } from '../report/identity.ts';
import { type Decoded, decodeObject, objectName } from './decode.ts';
import { describe, Field, type Report } from './fields.ts';
import { unreadNetworkPolicy } from './networkpolicy.ts';

/** The type that was asked for; `readAs` is the apiVersion whose reader reads it, if it is not its own. */
export interface DeliveredType {
  readonly apiVersion: string;
  readonly kind: string;
  readonly readAs?: string;
}

/** Reads an object as one of that type. Without an event it changes nothing: the callers keep what they had. */
export function decodeDelivered(object: unknown, type: DeliveredType): Decoded {
  const { apiVersion, kind, readAs = apiVersion } = type;
  const map = asMap(object);
  const unread = whyUnread(map, type);
  if (unread === undefined)
    return decodeObject(readAs === apiVersion ? object : { ...map, apiVersion: readAs });
  const name = objectName(kind, object);
  const report: Report = { object: name, problems: [], errors: 0 };
  const isIsolated = kind === 'NetworkPolicy';
  const root = new Field(object, '', isIsolated ? ISOLATES : STAYS, report);
  root.get(unread.field).error(unread.message);
  const event = isIsolated ? unreadNetworkPolicy(root) : undefined;
  return { kind, object: name, problems: report.problems, ...(event && { event }) };
}

/** Whether the object says of itself that it is of that type. */
export function isOfType(object: unknown, { apiVersion, kind }: DeliveredType): boolean {
  const map = asMap(object);
  return map.apiVersion === apiVersion && map.kind === kind;
}

const ISOLATES =
  'until it is fixed, the policy isolates every pod of its namespace in both directions, and allows them nothing';
const STAYS = 'the object stays as it was last known';

/** The API server stores no object of these kinds without a spec (it fills one in); the cluster policies look themselves. */
const HAVE_SPEC = new Set(['NetworkPolicy', 'Pod']);

function whyUnread(
  object: Readonly<Record<string, unknown>>,
  type: DeliveredType,
): { readonly field: string; readonly message: string } | undefined {
  for (const field of ['kind', 'apiVersion'] as const)
    if (object[field] !== type[field])
      return { field, message: `is ${describe(object[field])}, and ${type[field]} was asked for` };
  const { spec } = object;
  if (!HAVE_SPEC.has(type.kind) || (typeof spec === 'object' && spec !== null && !Array.isArray(spec)))
    return undefined;
  if (spec === undefined || spec === null) return { field: 'spec', message: 'is missing' };
  return { field: 'spec', message: `must be a map, not ${describe(spec)}` };
}
