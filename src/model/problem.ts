import { boundedText } from '../lib/text/boundedtext.ts';

/** Which object of a cluster is meant, and which of its generations. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Absent for what lives in no namespace. */
  readonly namespace?: string;
  readonly uid?: string;
  /** `metadata.generation`: the server counts the edits of the spec. */
  readonly generation?: number;
}

/** What `sluice check --accept` takes. */
export const WARNING_CODES = [
  'no-address',
  'missing-namespace',
  'empty-subject',
  'port-name',
  'service-address',
  'service-name',
  'no-dns',
  'public-wildcard',
  'shared-address',
  'equal-priority',
  'other-engine',
  'object',
] as const;

export type WarningCode = (typeof WARNING_CODES)[number];

/** What is wrong with an object that a source read, and what happens now. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  /** Which kind of warning it is, so that it can be accepted: `empty-subject`. */
  readonly code?: WarningCode;
  /** Where the object was read from, if it was a file. */
  readonly file?: string;
  /** Where in the file, as far as that is known. */
  readonly line?: number;
  /** `NetworkPolicy shop/web`; for a file that does not parse, absent. */
  readonly object?: string;
  /** The same object, for reports to its author; only for policies of a cluster. */
  readonly about?: ObjectReference;
  /** `spec.ingress[0].from[1].ipBlock.cidr`. */
  readonly field?: string;
  /** `"10.0.0.0/33" is not a network`. */
  readonly message: string;
  /** `the peer matches nothing until it is fixed`. */
  readonly effect: string;
}

/** `NetworkPolicy shop/web: spec.ingress[0].from[1].ipBlock.cidr "10.0.0.0/33" is not a network; the peer matches …`. */
export function problemText(problem: Problem): string {
  const { file, line, object } = problem;
  const place = line === undefined ? file : `${file}:${line}`;
  const where = [place, object].filter(part => part !== undefined).join(': ');
  return `${boundedText(where)}${where === '' ? '' : ': '}${problemNote(problem)}`;
}

/** The same where it is known which object is meant. */
export function problemNote({ field, message, effect }: Problem): string {
  return `${boundedText(field === undefined ? message : `${field} ${message}`)}; ${boundedText(effect)}`;
}
