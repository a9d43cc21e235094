/**
 * Decides which policies of a class are compiled for it alone, and which once for all classes that have them: in a
 * namespace whose pods are in many classes, the rules of its policies are not repeated in each class.
 *
 *     all small policies together ────────────────────────────────▶ merged: into few look-ups, in the class's own chain
 *     where an edit would compile too much again (bundled.ts):
 *         in bundles, by subject and name ────────────────────────▶ a part for each bundle
 *     each large policy ──────────────────────────────────────────▶ a part of its own
 *
 * The policies of a bundle have the same prefix of a hash: a policy that comes, goes or grows changes its own bundle
 * and no other. The hash begins with the subject, because policies with the same subject are in the same classes.
 */
import type { Direction, Policy } from '../model/policy.ts';
import { factsOf, type PolicyFacts } from './policyfacts.ts';

/** A policy with more entries than this, counted as for the budget, has a chain of its own. */
const LARGE = 256;
/**
 * The size of a bundle in entries, a power of two: a class with much has some 8 to 16 look-ups. A bundle is compiled
 * for each set of classes that have all of its policies, so it is kept small.
 */
const BUNDLE = { least: 64, most: 1_024, perClass: 8 };

export interface Shares {
  /** The policies that are merged, in the order in which they were given. */
  readonly merged: readonly Policy[];
  readonly parts: readonly (readonly Policy[])[];
}

/** Whether the policy is merged or bundled with others in this direction. */
export function isSmallPolicy(policy: Policy, direction: Direction): boolean {
  return isSmall(factsOf(policy), direction);
}

function isSmall({ entries }: PolicyFacts, direction: Direction): boolean {
  return entries[direction] <= LARGE;
}

/** Divides policies of one tier whose order does not matter. */
export function sharesOf(policies: readonly Policy[], direction: Direction, isBundled: boolean): Shares {
  const [small, large] = [newBundle(), newBundle()];
  for (const policy of policies) {
    const facts = factsOf(policy);
    add(facts, direction, isSmall(facts, direction) ? small : large);
  }
  const parts = large.members.map(({ policy }) => [policy]);
  if (!isBundled) return { merged: policiesOf(small), parts };
  return { merged: [], parts: [...parts, ...bundlesOf(small, direction).map(policiesOf)] };
}

function policiesOf({ members }: Bundle): Policy[] {
  return members.map(({ policy }) => policy);
}

/** The bundles, in the order of their places. */
function bundlesOf(small: Bundle, direction: Direction): Bundle[] {
  const bundles: Bundle[] = [];
  split(small, { direction, most: mostOfBundle(small.entries), bundles });
  return bundles;
}

/** A bundle of policies, in the order in which they were given. */
interface Bundle {
  readonly members: PolicyFacts[];
  entries: number;
}

interface Splitting {
  readonly direction: Direction;
  readonly most: number;
  readonly bundles: Bundle[];
}

function newBundle(): Bundle {
  return { members: [], entries: 0 };
}

function add(facts: PolicyFacts, direction: Direction, bundle: Bundle): void {
  bundle.members.push(facts);
  bundle.entries += facts.entries[direction];
}

function mostOfBundle(entries: number): number {
  const power = 2 ** Math.floor(Math.log2(Math.max(1, entries / BUNDLE.perClass)));
  return Math.min(Math.max(power, BUNDLE.least), BUNDLE.most);
}

/** How many bits of a place are looked at together: a class has thousands of policies, and some ten bundles. */
const DIGIT = { bits: 5, values: 32 };

/**
 * Splits the bundle in two where the places first differ, and each half again, until none is larger than a bundle may
 * be.
 */
function split(bundle: Bundle, splitting: Splitting): void {
  const { direction, most, bundles } = splitting;
  const from = bundle.entries <= most ? undefined : firstDifferent(bundle.members);
  if (from === undefined) {
    bundles.push(bundle);
    return;
  }
  const shift = Math.max(0, from.bit + 1 - DIGIT.bits);
  const digitOf = ({ place }: PolicyFacts) => (place[from.word]! >>> shift) & (DIGIT.values - 1);
  const entries = new Array<number>(DIGIT.values).fill(0);
  for (const facts of bundle.members) entries[digitOf(facts)]! += facts.entries[direction];
  const halves = halvesOf(entries, most);
  for (const facts of bundle.members) add(facts, direction, halves[digitOf(facts)]!);
  for (const half of new Set(halves)) if (half.members.length > 0) split(half, splitting);
}

/**
 * Splits a bundle by the next bits of the places: into halves, quarters and so on, until none is larger than a bundle
 * may be. `entries` are those of each value of these bits.
 */
function halvesOf(entries: readonly number[], most: number): Bundle[] {
  const all = entries.reduce((sum, each) => sum + each, 0);
  if (all <= most || entries.length === 1) return new Array<Bundle>(entries.length).fill(newBundle());
  const middle = entries.length / 2;
  return [...halvesOf(entries.slice(0, middle), most), ...halvesOf(entries.slice(middle), most)];
}

/** The first bit in which places differ, counted from the last one of its word; undefined if all places are equal. */
function firstDifferent(members: readonly PolicyFacts[]): { word: number; bit: number } | undefined {
  const first = members[0]!.place;
  for (let word = 0; word < first.length; word++) {
    let different = 0;
    for (const { place } of members) different |= place[word]! ^ first[word]!;
    if (different !== 0) return { word, bit: 31 - Math.clz32(different) };
  }
  return undefined;
}
