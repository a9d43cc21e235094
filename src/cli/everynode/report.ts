/** What `sluice drops -o json` and `sluice flows -o json` print in the pod of an agent, read again elsewhere. */
import type { Denial } from '../../denials/denial.ts';
import type { SeenFlow } from '../../flows/seenflow.ts';
import { denialLine } from '../drops/text.ts';
import { flowLine } from '../flows/text.ts';
import type { Timed } from './reorder.ts';

/** A denial or a new connection, with the node whose agent told of it. */
export interface Report extends Timed {
  readonly node: string;
  /** The same for the same thing, however often it is told. */
  readonly key: string;
  readonly object: object;
  /** For people; throws where the object lacks what its kind has. */
  readonly line: () => string;
}

/** Undefined where the line is nothing that one could show: agents of other versions may tell of more than we know. */
export function reportOf(node: string, line: string): Report | undefined {
  const object = parsed(line);
  if (object === undefined) return undefined;
  const atMs = Date.parse(String(object.time));
  const text = TEXTS[String(object.kind)];
  if (text === undefined || Number.isNaN(atMs)) return undefined;
  const { from, to, sourcePort, port, protocol, kind } = object;
  const ends = [from, to].map(end => (end as { address?: unknown } | undefined)?.address);
  const key = JSON.stringify([kind, object.time, ...ends, sourcePort, port, protocol]);
  const shown = { ...object, node };
  return { node, atMs, key, object: shown, line: () => text(object, atMs) };
}

type Fields = Readonly<Record<string, unknown>>;

function parsed(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

const TEXTS: Readonly<Record<string, (object: Fields, atMs: number) => string>> = {
  Denial: (object, atMs) => denialLine(denialFrom(object, atMs)),
  SeenFlow: (object, atMs) => flowLine({ ...(object as unknown as SeenFlow), atMs }),
};

function denialFrom(object: Fields, atMs: number): Denial {
  const { cause: kind, direction, tier, policy, rule, reason, ...rest } = object;
  const cause = { kind, direction, tier, policy, rule, reason };
  return { ...(rest as unknown as Denial), atMs, cause: cause as unknown as Denial['cause'] };
}
