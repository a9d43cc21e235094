/** Names as policies write them: in lower case, without the dot at their end, `*.` before a name for all below it. */
import { getOrMake } from '../lib/collections/getormake.ts';

/** What a name may have at most, without the dot at its end (RFC 1035, 3.1). */
export const MOST_NAME = 253;

/** Whether it is an IPv4 address, or looks like one: no top-level domain is a number (RFC 3696 2). */
export function endsInNumber(name: string): boolean {
  return NUMBER_AT_END.test(name);
}

const NUMBER_AT_END = /\.\d+$/;

/** Whether a pattern means a name: `*.example.org` is one label more or several, and never `example.org` itself (C38). */
export function matchesDomainName(pattern: string, name: string): boolean {
  return pattern.startsWith('*.')
    ? name.endsWith(pattern.slice(1)) && name.length >= pattern.length
    : pattern === name;
}

/** Patterns with what they stand for, so that a name finds its own without a look at all of them. */
export class DomainNameIndex<T> {
  readonly #exact = new Map<string, T[]>();
  readonly #below = new Map<string, T[]>();

  add(pattern: string, value: T): void {
    const [map, key] = pattern.startsWith('*.') ? [this.#below, pattern.slice(2)] : [this.#exact, pattern];
    getOrMake(map, key, () => []).push(value);
  }

  /** Once for each of the patterns that mean the name; of one of them alone, always the same list. */
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
