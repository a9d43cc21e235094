/**
 * Names of the DNS as policies tell them apart. A name is meant by itself and by each wildcard above it, so the narrowest
 * pattern that means it says which others do, too:
 *
 *     *.io, *.kubernetes.io, kubernetes.io       www.kubernetes.io: the first two    kubernetes.io: the first and the last
 *
 * Those that the same rules mean are one class, however many patterns they are written in.
 */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { patternsOfPolicy, patternsOfRule } from '../../model/domainpeers.ts';
import type { Policy } from '../../model/policy.ts';

export interface NameClass {
  /** The narrowest patterns of its names, as policies write them. */
  readonly patterns: readonly string[];
  /** All patterns that match a name of the first of these: rules treat it and the others alike. */
  readonly meaning: ReadonlySet<string>;
}

/** Name classes of several clusters are made together, so that they can be compared. */
export function nameClassesOf(policies: Iterable<Policy>): NameClass[] {
  const rules = rulesByPattern(policies);
  const found = new Map<string, NameClass & { patterns: string[] }>();
  for (const pattern of [...rules.keys()].sort()) {
    const meaning = new Set(meaningOf(pattern, rules));
    const key = [...new Set([...meaning].flatMap(each => rules.get(each)!))].sort().join();
    getOrMake(found, key, () => ({ patterns: [], meaning })).patterns.push(pattern);
  }
  return [...found.values()];
}

/** Whether a policy's egress has a rule by one of these patterns. */
export function hasRuleByName(policy: Policy, meaning: ReadonlySet<string>): boolean {
  return patternsOfPolicy(policy).some(pattern => meaning.has(pattern));
}

/** The numbers of the rules that have each. */
function rulesByPattern(policies: Iterable<Policy>): Map<string, number[]> {
  const found = new Map<string, number[]>();
  let number = 0;
  for (const { egress = [] } of policies)
    for (const rule of egress) {
      for (const pattern of new Set(patternsOfRule(rule))) getOrMake(found, pattern, () => []).push(number);
      number++;
    }
  return found;
}

/** Itself, and the wildcards above it. */
function meaningOf(pattern: string, all: ReadonlyMap<string, unknown>): string[] {
  const name = pattern.replace(/^\*\./, '');
  const above = [...name.matchAll(/\./g)].map(({ index }) => `*${name.slice(index)}`);
  return [pattern, ...above.filter(wildcard => all.has(wildcard))];
}
