/** What is wrong with an object that a source read, and what happens now. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  /** Where the object was read from, if it was a file. */
  readonly file?: string;
  /** Where in the file, as far as that is known. */
  readonly line?: number;
  /** `NetworkPolicy shop/web`; for a file that does not parse, absent. */
  readonly object?: string;
  /** `spec.ingress[0].from[1].ipBlock.cidr`. */
  readonly field?: string;
  /** `"10.0.0.0/33" is not a network`. */
  readonly message: string;
  /** `the peer matches nothing until it is fixed`. */
  readonly effect: string;
}

/** `NetworkPolicy shop/web: spec.ingress[0].from[1].ipBlock.cidr "10.0.0.0/33" is not a network; the peer matches …`. */
export function problemText({ file, line, object, field, message, effect }: Problem): string {
  const place = line === undefined ? file : `${file}:${line}`;
  const where = [place, object].filter(part => part !== undefined).join(': ');
  const what = field === undefined ? message : `${field} ${message}`;
  return `${where}${where === '' ? '' : ': '}${what}; ${effect}`;
}
