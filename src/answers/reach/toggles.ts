/**
 * Sets of numbers as the places where membership changes, in order: `[80, 81, 443, 500]` holds 80 and 443 to 499. One
 * sweep does every operation, for ports and protocols (numbers) and for addresses (bigints) alike.
 */

export type Toggles<N extends number | bigint = number> = readonly N[];

/** What holds of a place of the result, by whether it is in `a` and in `b`; must be false of what is in neither. */
type Keeps = (inA: boolean, inB: boolean) => boolean;

export const UNION: Keeps = (inA, inB) => inA || inB;
export const INTERSECTION: Keeps = (inA, inB) => inA && inB;
export const DIFFERENCE: Keeps = (inA, inB) => inA && !inB;

export function combine<N extends number | bigint>(a: Toggles<N>, b: Toggles<N>, keeps: Keeps): Toggles<N> {
  const result: N[] = [];
  let [i, j, inside] = [0, 0, false];
  while (i < a.length || j < b.length) {
    const at = j >= b.length || (i < a.length && a[i]! <= b[j]!) ? a[i]! : b[j]!;
    if (a[i] === at) i++;
    if (b[j] === at) j++;
    // After an odd number of places one is inside.
    const holds = keeps(i % 2 === 1, j % 2 === 1);
    if (holds !== inside) result.push(at);
    inside = holds;
  }
  return result;
}

export interface Range<N> {
  readonly first: N;
  readonly last: N;
}

/** Of ranges in any order, which may overlap; one that ends before it starts holds nothing. */
export function togglesOf<N extends number | bigint>(ranges: readonly Range<N>[], one: N): Toggles<N> {
  const sorted = ranges.filter(({ first, last }) => first <= last).sort(byFirst);
  const result: N[] = [];
  for (const { first, last } of sorted) {
    const end = plus(last, one);
    const before = result.at(-1);
    if (before === undefined || first > before) result.push(first, end);
    else if (end > before) result[result.length - 1] = end;
  }
  return result;
}

function byFirst<N extends number | bigint>(a: Range<N>, b: Range<N>): number {
  return a.first < b.first ? -1 : a.first > b.first ? 1 : 0;
}

/** Both ends included. */
export function toggleRanges<N extends number | bigint>(toggles: Toggles<N>, one: N): Range<N>[] {
  const ranges: Range<N>[] = [];
  for (let i = 0; i + 1 < toggles.length; i += 2)
    ranges.push({ first: toggles[i]!, last: plus(toggles[i + 1]!, -one as N) });
  return ranges;
}

function plus<N extends number | bigint>(a: N, b: N): N {
  return ((a as number) + (b as number)) as N;
}
