/**
 * What of a class is compiled for it alone, and what once for all classes that have it: in a namespace whose pods are in
 * many classes, the rules of its policies are not multiplied by them.
 *
 *     all small policies together ────────────────────────────────▶ merged: into few look-ups, in the class's own chain
 *     where an edit would make too much again (bundled.ts):
 *     in bundles, by subject and name ──┬─ the least of them ─────▶ merged
 *                                       └─ the others ────────────▶ a part each
 *     a large policy ─────────────────────────────────────────────▶ a part by itself
 *
 * A bundle is what has one prefix of a hash: another policy that comes, goes or grows changes the bundle that it is in,
 * and no other. Policies of one subject are in all classes that one of them is in, so that the subject is hashed first.
 */

import { hash } from 'node:crypto';
import { getOrMake } from '../model/getormake.ts';
import type { Direction, Policy } from '../model/policy.ts';
import { countEntriesOf } from '../model/policysize.ts';

/** In entries, as the budget counts them: what has more stands by itself. */
const LARGE = 256;
/** Of a bundle: some milliseconds of work in each family, and 25 look-ups at most for all that a namespace may have. */
const BUNDLE = 1_024;

export interface Shares {
  /** In the order that they came in. */
  readonly merged: readonly Policy[];
  readonly parts: readonly (readonly Policy[])[];
}

/** Whether it is merged or bundled with others in this direction. */
export function isSmallPolicy(policy: Policy, direction: Direction): boolean {
  return entriesOf(policy, direction) <= LARGE;
}

function entriesOf(policy: Policy, direction: Direction): number {
  return countEntriesOf(policy[direction] ?? []);
}

/** Of policies of one tier of which no rule comes before another. */
export function sharesOf(policies: readonly Policy[], direction: Direction, isBundled: boolean): Shares {
  const merged = policies.filter(policy => isSmallPolicy(policy, direction));
  const large = policies.filter(policy => !isSmallPolicy(policy, direction)).map(policy => [policy]);
  return isBundled ? bundled(merged, large, direction) : { merged, parts: large };
}

function bundled(policies: readonly Policy[], large: Shares['parts'], direction: Direction): Shares {
  const small = policies.map(policy => ({ policy, entries: entriesOf(policy, direction) }));
  const bundles = bundlesOf(small);
  const least = new Set(leastOf(bundles));
  const merged = new Set(bundles.filter(bundle => least.has(bundle)).flat());
  const parts = bundles.filter(bundle => !least.has(bundle));
  return {
    merged: small.filter(one => merged.has(one)).map(({ policy }) => policy),
    parts: [...large, ...parts.map(bundle => bundle.map(({ policy }) => policy))],
  };
}

interface Weighed {
  readonly policy: Policy;
  readonly entries: number;
}

type Bundle = readonly Weighed[];

function sumOf(bundle: Bundle): number {
  return bundle.reduce((sum, { entries }) => sum + entries, 0);
}

/** As many as are small together. */
function leastOf(bundles: readonly Bundle[]): Bundle[] {
  let sum = 0;
  return bundles
    .toSorted((a, b) => sumOf(a) - sumOf(b))
    .filter(bundle => {
      sum += sumOf(bundle);
      return sum <= LARGE;
    });
}

function bundlesOf(small: Bundle): Bundle[] {
  return split(small.toSorted((a, b) => (placeOf(a.policy) < placeOf(b.policy) ? -1 : 1)));
}

/** In two where their places first differ, until each is no more than a bundle. */
function split(sorted: Bundle): Bundle[] {
  if (sumOf(sorted) <= BUNDLE) return [sorted];
  const [first, last] = [placeOf(sorted[0]!.policy), placeOf(sorted.at(-1)!.policy)];
  const at = [...first].findIndex((digit, i) => digit !== last[i]);
  if (at < 0) return [sorted];
  const digit = (place: string) => Number.parseInt(place[at]!, 16);
  const bit = 1 << (31 - Math.clz32(digit(first) ^ digit(last)));
  const middle = sorted.findIndex(({ policy }) => (digit(placeOf(policy)) & bit) !== 0);
  return [...split(sorted.slice(0, middle)), ...split(sorted.slice(middle))];
}

const places = new WeakMap<Policy, string>();

function placeOf(policy: Policy): string {
  return getOrMake(
    places,
    policy,
    () => digitsOf(JSON.stringify(policy.subject)).slice(0, 8) + digitsOf(policy.id).slice(0, 16),
  );
}

function digitsOf(text: string): string {
  return hash('sha256', text, 'hex');
}
