import { groupedBy } from '../lib/collections/groupedby.ts';
import { boundedText } from '../lib/text/boundedtext.ts';
import { thousands } from '../lib/text/thousands.ts';

/** An object of the cluster, and its generation. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Absent for objects without a namespace. */
  readonly namespace?: string;
  readonly uid?: string;
  /** `metadata.generation`: the server counts the edits of the spec. */
  readonly generation?: number;
}

/** The codes that `sluice check --accept` takes. */
export const WARNING_CODES = [
  'no-address',
  'missing-namespace',
  'wrong-namespace',
  'empty-subject',
  'empty-peer',
  'host-network',
  'unread-rules',
  'covered-rule',
  'port-name',
  'service-port',
  'service-address',
  'tunnel-address',
  'legacy-address',
  'service-name',
  'no-dns',
  'dns-anyone',
  'public-wildcard',
  'shared-address',
  'equal-priority',
  'missing-service',
  'empty-service',
  'closed-entrance',
  'other-engine',
  'object',
] as const;

export type WarningCode = (typeof WARNING_CODES)[number];

/** What is wrong with an object that a source has read, and the effect of that. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  /** The kind of the warning, by which it can be accepted: `empty-subject`. */
  readonly code?: WarningCode;
  /** The file from which the object was read, if any. */
  readonly file?: string;
  /** The line in the file, if it is known. */
  readonly line?: number;
  /** `NetworkPolicy shop/web`; absent for a file that cannot be parsed. */
  readonly object?: string;
  /** The object as a reference, for reports to its author; only for policies that were read from a cluster. */
  readonly about?: ObjectReference;
  /** `spec.ingress[0].from[1].ipBlock.cidr`. */
  readonly field?: string;
  /** `"10.0.0.0/33" is not a network`. */
  readonly message: string;
  /** `the peer matches nothing until it is fixed`. */
  readonly effect: string;
  /** The one edit that mends it, where there is only one. */
  readonly fix?: Fix;
}

/** What a field of the object gets, or a list in addition. */
export type Fix =
  | { readonly field: string; readonly set: unknown }
  | { readonly field: string; readonly append: unknown };

/** Sentences for what is wrong in one way with more objects than these are counted. */
const MOST_ALIKE = 3;
const MOST_TEXTS = 20;

/**
 * A sentence for each problem, within limits. Those of many objects that differ in numbers alone are counted after the
 * first: a namespace may have a thousand policies too many.
 */
export function problemTexts(problems: readonly Problem[]): string[] {
  const groups = groupedBy(problems, problem => problemNote(problem).replace(/\d+/g, '0'));
  const texts = [...groups.values()].flatMap(alike => {
    const more = alike.length - MOST_ALIKE;
    if (more < 2) return alike.map(problemText);
    return [
      ...alike.slice(0, MOST_ALIKE).map(problemText),
      `the same of ${thousands(more)} other objects, but for numbers`,
    ];
  });
  const more = texts.length - MOST_TEXTS;
  if (more <= 0) return texts;
  return [
    ...texts.slice(0, MOST_TEXTS),
    `and ${thousands(more)} more that is wrong with what was read: sluice check lists it`,
  ];
}

/** `NetworkPolicy shop/web: spec.ingress[0].from[1].ipBlock.cidr "10.0.0.0/33" is not a network; the peer matches …`. */
export function problemText(problem: Problem): string {
  const { file, line, object } = problem;
  const place = line === undefined ? file : `${file}:${line}`;
  const where = [place, object].filter(part => part !== undefined).join(': ');
  return `${boundedText(where)}${where === '' ? '' : ': '}${problemNote(problem)}`;
}

/** The text of a problem without its object, for output that names the object already. */
export function problemNote({ field, message, effect }: Problem): string {
  return `${boundedText(field === undefined ? message : `${field} ${message}`)}; ${boundedText(effect)}`;
}
