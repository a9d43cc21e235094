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
import type { Direction, Policy } from '../model/policy.ts';
import { factsOf, type PolicyFacts } from './policyfacts.ts';

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
  return isSmall(factsOf(policy), direction);
}

function isSmall({ entries }: PolicyFacts, direction: Direction): boolean {
  return entries[direction] <= LARGE;
}

/** Of policies of one tier of which no rule comes before another. */
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

/** In the order of their places. */
function bundlesOf(small: Bundle, direction: Direction): Bundle[] {
  const bundles: Bundle[] = [];
  split(small, { direction, most: mostOfBundle(small.entries), bundles });
  return bundles;
}

/** In the order that they came in. */
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

/** Bits of a place that are looked at together: a class has thousands of policies, and some ten bundles. */
const DIGIT = { bits: 5, values: 32 };

/** In two where the places first differ, and each of these again, until each is no more than a bundle. */
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

/** Of digits that have so many entries each: halves, quarters and so on, as far as they are no more than a bundle. */
function halvesOf(entries: readonly number[], most: number): Bundle[] {
  const all = entries.reduce((sum, each) => sum + each, 0);
  if (all <= most || entries.length === 1) return new Array<Bundle>(entries.length).fill(newBundle());
  const middle = entries.length / 2;
  return [...halvesOf(entries.slice(0, middle), most), ...halvesOf(entries.slice(middle), most)];
}

/** The first bit by which places differ, counted from the last one of its word; nothing where they are all one. */
function firstDifferent(members: readonly PolicyFacts[]): { word: number; bit: number } | undefined {
  const first = members[0]!.place;
  for (let word = 0; word < first.length; word++) {
    let different = 0;
    for (const { place } of members) different |= place[word]! ^ first[word]!;
    if (different !== 0) return { word, bit: 31 - Math.clz32(different) };
  }
  return undefined;
}
