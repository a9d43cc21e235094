/**
 * Lists of patterns that may have thousands, each looked through once: who asks of every open connection whether its
 * address has a name of the list asks often.
 */
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
  const known = SHARED.get(patterns) ?? new WeakMap<readonly string[], boolean>();
  SHARED.set(patterns, known);
  const found = known.get(others) ?? others.some(other => hasPattern(patterns, other));
  known.set(others, found);
  return found;
}

function setOf(patterns: readonly string[]): ReadonlySet<string> {
  const set = SETS.get(patterns) ?? new Set(patterns);
  SETS.set(patterns, set);
  return set;
}

function indexOf(patterns: readonly string[]): DomainNameIndex<true> {
  const known = INDEXES.get(patterns);
  if (known !== undefined) return known;
  const index = new DomainNameIndex<true>();
  for (const pattern of patterns) index.add(pattern, true);
  INDEXES.set(patterns, index);
  return index;
}
