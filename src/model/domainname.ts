/**
 * Domain names as policies write them: in lower case, without the final dot; `*.` before a name stands for all names
 * below it.
 */
import { getOrMake } from '../lib/collections/getormake.ts';

/** The maximum length of a name, without the final dot (RFC 1035, 3.1). */
export const MOST_NAME = 253;

/** Whether it is an IPv4 address or looks like one: no top-level domain is a number (RFC 3696 2). */
export function endsInNumber(name: string): boolean {
  return NUMBER_AT_END.test(name);
}

const NUMBER_AT_END = /\.\d+$/;

/**
 * Whether a pattern matches a name: `*.example.org` matches names with one or several more labels, but not
 * `example.org` (C38).
 */
export function matchesDomainName(pattern: string, name: string): boolean {
  return pattern.startsWith('*.')
    ? name.endsWith(pattern.slice(1)) && name.length >= pattern.length
    : pattern === name;
}

/** Values by pattern. The values of a name are found without looking at all patterns. */
export class DomainNameIndex<T> {
  readonly #exact = new Map<string, T[]>();
  readonly #below = new Map<string, T[]>();

  add(pattern: string, value: T): void {
    const [map, key] = pattern.startsWith('*.') ? [this.#below, pattern.slice(2)] : [this.#exact, pattern];
    getOrMake(map, key, () => []).push(value);
  }

  /** The values of all patterns that match the name. If only one pattern does, always the same list. */
  valuesOf(name: string): readonly T[] {
    let found: readonly T[] = this.#exact.get(name) ?? NONE;
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const more = this.#below.get(name.slice(dot + 1));
      if (more !== undefined) found = found.length === 0 ? more : [...found, ...more];
    }
    return found;
  }
}

const NONE: readonly never[] = [];
