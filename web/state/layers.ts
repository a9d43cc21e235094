/**
 * The arrows around an end, step by step: who may reach it, who may reach those, and the same the other way. Where there
 * are more arrows than an eye can follow, there are fewer steps, or none.
 */
import type { Link, Way } from './links.ts';

export const MOST_ARROWS = 30;
const MOST_STEPS = 3;

export interface Arrow {
  /** Indexes of rows. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly sign: string;
  /** How far its outer end is from the middle, and on which side. */
  readonly step: number;
  readonly way: Way;
}

export interface Layers {
  /** From left to right: indexes of rows. The end itself is alone in the middle. */
  readonly columns: readonly (readonly number[])[];
  /** The place of the middle in `columns`. */
  readonly middle: number;
  readonly arrows: readonly Arrow[];
  /** Whether further steps are left out because of their number. */
  readonly isCut: boolean;
}

interface Around {
  readonly at: number;
  readonly linksOf: (row: number, way: Way) => readonly Link[];
  readonly kindOf: (row: number) => 'workload' | 'internet' | 'other';
}

interface Side {
  readonly way: Way;
  readonly columns: (readonly number[])[];
  readonly seen: Set<number>;
}

/** Nothing, with their number, where the first step alone has too many arrows. */
export function layersAround(around: Around): Layers | { readonly tooMany: number } {
  const sides = (['in', 'out'] as const).map(
    (way): Side => ({ way, columns: [[around.at]], seen: new Set([around.at]) }),
  );
  const arrows = sides.flatMap(side => grow(side, nextStep(around, side)));
  if (arrows.length > MOST_ARROWS) return { tooMany: arrows.length };
  let isCut = false;
  for (const side of sides)
    while (side.columns.length <= MOST_STEPS) {
      const next = nextStep(around, side);
      if (next.length === 0) break;
      isCut ||= arrows.length + next.length > MOST_ARROWS;
      if (arrows.length + next.length > MOST_ARROWS) break;
      arrows.push(...grow(side, next));
    }
  const [left, right] = sides.map(({ columns }) => columns.slice(1));
  return {
    columns: [...left!.toReversed(), [around.at], ...right!],
    middle: left!.length,
    arrows,
    isCut,
  };
}

/**
 * Only to ends that are not in this side yet: an arrow always leads one column on. After the first step nodes and networks
 * are left out, which many may reach, and only workloads are followed: what goes to the internet does not go on from there.
 */
function nextStep({ linksOf, kindOf }: Around, { way, columns, seen }: Side): readonly Arrow[] {
  const step = columns.length;
  const last = columns.at(-1)!.filter(row => step === 1 || kindOf(row) === 'workload');
  return last.flatMap(inner =>
    linksOf(inner, way)
      .filter(({ row }) => !seen.has(row) && (step === 1 || kindOf(row) !== 'other'))
      .map(({ row, text, sign }) => {
        const [from, to] = way === 'in' ? [row, inner] : [inner, row];
        return { from, to, text, sign, step, way };
      }),
  );
}

function grow({ way, columns, seen }: Side, arrows: readonly Arrow[]): readonly Arrow[] {
  const outer = [...new Set(arrows.map(({ from, to }) => (way === 'in' ? from : to)))];
  if (outer.length > 0) columns.push(outer);
  for (const row of outer) seen.add(row);
  return arrows;
}
