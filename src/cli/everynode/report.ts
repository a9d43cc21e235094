/** Reads the JSON that `sluice drops -o json` and `sluice flows -o json` print in an agent's pod. */
import { jsonOf } from '../../lib/text/jsonof.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import { type DropFilter, isBetween, isWanted } from '../drops/filter.ts';
import type { Report } from '../drops/printer.ts';
import { denialSaid, flowSaid } from '../drops/text.ts';

/** A denial or a new connection, with the node whose agent reported it. */
export interface NodeReport {
  readonly node: string;
  readonly atMs: number;
  readonly kind: keyof typeof KINDS;
  /** Equal for every report of the same denial; absent for reports that are never repeated. */
  readonly key?: string;
  readonly shown: Report;
  /** Whether it is one that the options ask for; throws if the object lacks a field that its kind has. */
  readonly isMeant: (filter: DropFilter) => boolean;
}

const LONGEST_TIME = 40;
/** IPv6 with a zone is shorter. */
const LONGEST_ADDRESS = 64;

/** Undefined if the line cannot be shown: agents of other versions may report more than this version knows. */
export function reportOf(node: string, line: string): NodeReport | undefined {
  const object = parsed(line);
  if (object === undefined || !isKnown(object)) return undefined;
  const { from, to, sourcePort, port, protocol, kind, time } = object;
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return undefined;
  const key = JSON.stringify([time, from.address, to.address, sourcePort, port, protocol]);
  const whole = { ...object, node };
  return {
    node,
    kind,
    atMs,
    ...(kind === 'Denial' && { key }),
    shown: { object: () => whole, said: isWide => ({ ...KINDS[kind].said(object, atMs, isWide), node }) },
    isMeant: filter => KINDS[kind].isMeant(object, filter),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** The fields that are read here; all others may have any type. */
type Known = Fields & {
  readonly kind: keyof typeof KINDS;
  readonly time: string;
  readonly from: { readonly address: string };
  readonly to: { readonly address: string };
};

function isKnown(object: Fields): object is Known {
  const { kind, time, from, to, sourcePort, port, protocol } = object;
  const addresses = [from, to].map(end => (end as { address?: unknown } | null | undefined)?.address);
  return (
    typeof kind === 'string' &&
    Object.hasOwn(KINDS, kind) &&
    isText(time, LONGEST_TIME) &&
    [...addresses, protocol].every(text => isText(text, LONGEST_ADDRESS)) &&
    [sourcePort, port].every(number => number === undefined || typeof number === 'number')
  );
}

function isText(value: unknown, longest: number): value is string {
  return typeof value === 'string' && value.length <= longest;
}

function parsed(line: string): Fields | undefined {
  const value = jsonOf(line);
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
}

const KINDS = {
  Denial: {
    said: (object: Fields, atMs: number, isWide: boolean) => denialSaid(denialFrom(object, atMs), isWide),
    isMeant: (object: Fields, filter: DropFilter) => isWanted(denialFrom(object, 0), filter),
  },
  SeenFlow: {
    said: (object: Fields, atMs: number, isWide: boolean) => flowSaid({ ...flowFrom(object), atMs }, isWide),
    isMeant: (object: Fields, filter: DropFilter) => isBetween(flowFrom(object), filter),
  },
};

function flowFrom(object: Fields): SeenFlow {
  return object as unknown as SeenFlow;
}

function denialFrom(object: Fields, atMs: number): Denial {
  const { cause: kind, direction, tier, policy, policies, rule, reason, ...rest } = object;
  const cause = { kind, direction, tier, policy, policies, rule, reason };
  return { ...(rest as unknown as Denial), atMs, cause: cause as unknown as Denial['cause'] };
}
