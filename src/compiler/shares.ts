/**
 * What of a class is compiled for it alone, and what once for all classes that have it: in a namespace whose pods are in
 * many classes, the rules of its policies are not multiplied by them.
 *
 *     all small policies together ────────────────────────────────▶ merged: into few look-ups, in the class's own chain
 *     where an edit would make too much again (bundled.ts):
 *     in bundles, by subject and name ────────────────────────────▶ a part each
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
/**
 * Of a bundle, in entries: a power of two, for some 8 to 16 look-ups where a class has much. What is in one bundle with a policy
 * that few classes have is made for each of these, so that it is to be little.
 */
const BUNDLE = { least: 64, most: 1_024, perClass: 8 };

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
  const small = policies.map(policy => ({
    policy,
    entries: entriesOf(policy, direction),
    place: placeOf(policy),
  }));
  const bundles = split(small, mostOfBundle(sumOf(small)));
  return { merged: [], parts: [...large, ...bundles.map(bundle => bundle.map(({ policy }) => policy))] };
}

interface Weighed {
  readonly policy: Policy;
  readonly entries: number;
  readonly place: string;
}

/** In the order that they came in. */
type Bundle = readonly Weighed[];

function sumOf(bundle: Bundle): number {
  return bundle.reduce((sum, { entries }) => sum + entries, 0);
}

function mostOfBundle(entries: number): number {
  const power = 2 ** Math.floor(Math.log2(Math.max(1, entries / BUNDLE.perClass)));
  return Math.min(Math.max(power, BUNDLE.least), BUNDLE.most);
}

/** In two where their places first differ, until each is no more than a bundle. */
function split(bundle: Bundle, most: number): Bundle[] {
  if (sumOf(bundle) <= most) return [bundle];
  const [first, last] = endsOf(bundle);
  const at = [...first].findIndex((digit, i) => digit !== last[i]);
  if (at < 0) return [bundle];
  const digit = (place: string) => Number.parseInt(place[at]!, 16);
  const bit = 1 << (31 - Math.clz32(digit(first) ^ digit(last)));
  const isFirst = ({ place }: Weighed) => (digit(place) & bit) === 0;
  return [
    ...split(bundle.filter(isFirst), most),
    ...split(
      bundle.filter(one => !isFirst(one)),
      most,
    ),
  ];
}

function endsOf(bundle: Bundle): [first: string, last: string] {
  let [first, last] = [bundle[0]!.place, bundle[0]!.place];
  for (const { place } of bundle) {
    if (place < first) first = place;
    if (place > last) last = place;
  }
  return [first, last];
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
