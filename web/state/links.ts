/** Who may reach an end, and whom it may reach: what the focus shows as boxes and as a picture. */
import { CLOSES, changeMarks, isHidden, OPENS, typeAt } from './grid.ts';
import { model } from './manifests.ts';
import { filter, nameOf, passes } from './view.ts';

/** `in`: who may reach it. */
export type Way = 'in' | 'out';

export interface Link {
  /** The index of the row at the other end. */
  readonly row: number;
  /** `TCP 80`; of what an edit closes, what is left. */
  readonly text: string;
  /** What an edit does: `+`, `−`, both or nothing. */
  readonly sign: string;
}

export function linksOf(at: number, way: Way): readonly Link[] {
  const of = model.value;
  if (of === undefined) return [];
  return of.rows.flatMap((row, i): Link[] => {
    if (i === at || !passes(nameOf(row), filter.value)) return [];
    const [from, to] = way === 'in' ? [i, at] : [at, i];
    const mark = changeMarks.value[from * of.rows.length + to]!;
    const sign = `${(mark & OPENS) > 0 ? '+' : ''}${(mark & CLOSES) > 0 ? '−' : ''}`;
    const { kind, text } = typeAt(of, from, to);
    const isNone = kind === 'apart' || (kind === 'none' && sign === '') || isHidden(of, from, to);
    return isNone ? [] : [{ row: i, text, sign }];
  });
}
