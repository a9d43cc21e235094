/**
 * Lists of patterns that may have thousands, each looked through once: who asks of every open connection whether its
 * address has a name of the list asks often.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { DomainNameIndex } from '../model/domainname.ts';

const SETS = new WeakMap<readonly string[], ReadonlySet<string>>();
const INDEXES = new WeakMap<readonly string[], DomainNameIndex<true>>();
const SHARED = new WeakMap<readonly string[], WeakMap<readonly string[], boolean>>();

/** Whether one of the patterns is this one. */
export function hasPattern(patterns: readonly string[], pattern: string): boolean {
  return setOf(patterns).has(pattern);
}

/** Whether one of them means the name. */
export function haveName(patterns: readonly string[], name: string): boolean {
  return indexOf(patterns).valuesOf(name).length > 0;
}

/** Whether one of them is in both lists. */
export function havePatternOf(patterns: readonly string[], others: readonly string[]): boolean {
  const known = getOrMake(SHARED, patterns, () => new WeakMap<readonly string[], boolean>());
  return getOrMake(known, others, () => others.some(other => hasPattern(patterns, other)));
}

function setOf(patterns: readonly string[]): ReadonlySet<string> {
  return getOrMake(SETS, patterns, () => new Set(patterns));
}

function indexOf(patterns: readonly string[]): DomainNameIndex<true> {
  return getOrMake(INDEXES, patterns, () => {
    const index = new DomainNameIndex<true>();
    for (const pattern of patterns) index.add(pattern, true);
    return index;
  });
}
