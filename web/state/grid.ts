/** The lines of the matrix and their cells: namespaces folded or open, filtered, and with what an edit changes. */
import { computed } from '@preact/signals';
import { getOrMake } from '../../src/lib/collections/getormake.ts';
import type { CellType, Change, Model, Row } from '../core/protocol.ts';
import { changes, model } from './manifests.ts';
import { filter, folds, hidesCommon, nameOf, passes } from './view.ts';

/** A row, or a namespace that is folded. */
export interface Line {
  readonly group: string;
  /** Indexes of rows. */
  readonly rows: readonly number[];
  /** Absent for a namespace that is folded. */
  readonly row?: Row;
  /** The first line of its group, with a border before it; namespaces that are folded have none between them. */
  readonly isFirst: boolean;
}

/** With more lines all namespaces are folded, until they are opened. */
export const MOST_OPEN_LINES = 40;

/** The same list after an edit that left them as they were: then their lines stay, too. */
const rows = computed(() => model.value?.rows ?? []);

const groups = computed<ReadonlyMap<string, readonly number[]>>(() => {
  const found = new Map<string, number[]>();
  for (const [i, row] of rows.value.entries()) {
    if (!passes(nameOf(row), filter.value)) continue;
    const own = found.get(row.group);
    if (own === undefined) found.set(row.group, [i]);
    else own.push(i);
  }
  return found;
});

const count = computed(() => [...groups.value.values()].reduce((sum, rows) => sum + rows.length, 0));

export function isOpen(group: string): boolean {
  return folds.value.get(group) ?? (count.value <= MOST_OPEN_LINES || groups.value.get(group)?.length === 1);
}

export const lines = computed<readonly Line[]>(() => {
  const all = rows.value;
  let wasOpen = false;
  return [...groups.value].flatMap(([group, indexes]): Line[] => {
    const [isFirst, opened] = [wasOpen || isOpen(group), isOpen(group)];
    wasOpen = opened;
    if (!opened) return [{ group, rows: indexes, isFirst }];
    return indexes.map((index, i) => ({ group, rows: [index], row: all[index]!, isFirst: i === 0 }));
  });
});

export function toggleFold(group: string): void {
  folds.value = new Map([...folds.value, [group, !isOpen(group)]]);
}

export function foldAll(areOpen: boolean): void {
  folds.value = new Map([...groups.value.keys()].map(group => [group, areOpen]));
}

// Changes by pair of rows.

/** What an edit, or enforcing audited policies, does to the pairs: bits of both, at `from * rows + to`. */
type Marks = Uint8Array;
export const OPENS = 1;
export const CLOSES = 2;

export const changeMarks = computed(() => marksOf(rows.value, changes.value?.changes ?? []));
const auditMarks = computed(() => marksOf(rows.value, model.value?.audited ?? []));

/** No pair is marked. Each index reads as undefined, which has no bit set. */
const NO_MARKS: Marks = new Uint8Array();

function marksOf(of: readonly Row[], all: readonly Change[]): Marks {
  if (all.length === 0) return NO_MARKS;
  const marks = new Uint8Array(of.length ** 2);
  const byMember = new Map<string, number[]>();
  for (const [i, { member }] of of.entries()) {
    const known = byMember.get(member);
    if (known === undefined) byMember.set(member, [i]);
    else known.push(i);
  }
  const indexesOf = (members: readonly string[]) => members.flatMap(member => byMember.get(member) ?? []);
  for (const { kind, from, to } of all) {
    const [mark, destinations] = [kind === 'opens' ? OPENS : CLOSES, indexesOf(to)];
    for (const a of indexesOf(from)) for (const b of destinations) marks[a * of.length + b]! |= mark;
  }
  return marks;
}

/** The type of a pair of rows. */
export function typeAt({ rows, ends, cells, types }: Model, from: number, to: number): CellType {
  return types[cells[rows[from]!.end * ends + rows[to]!.end]!]!;
}

/** A pod always reaches itself. */
function isSelf({ rows }: Model, from: number, to: number): boolean {
  return rows[from]!.kind === 'workload' && from === to;
}

/** For each row, the type that every workload has to it; undefined where they differ, or none is allowed. */
const commonTypes = computed<readonly (CellType | undefined)[]>(() => {
  const of = model.value;
  if (of === undefined) return [];
  const workloads = of.rows.flatMap(({ kind }, i) => (kind === 'workload' ? [i] : []));
  return of.rows.map((_, to) => {
    const others = workloads.filter(from => from !== to);
    const first = others[0] === undefined ? undefined : typeAt(of, others[0], to);
    const isCommon =
      first !== undefined && others.length > 1 && others.every(from => typeAt(of, from, to) === first);
    return isCommon && (first.kind === 'some' || first.kind === 'all') ? first : undefined;
  });
});

/** Whether the pair only has what every workload has, and that is not wanted. */
export function isHidden({ rows }: Model, from: number, to: number): boolean {
  return hidesCommon.value && rows[from]!.kind === 'workload' && commonTypes.value[to] !== undefined;
}

/** A square of the matrix. */
export interface Square {
  readonly kind: 'apart' | 'none' | 'some' | 'all' | 'part';
  /** The share of its pairs that may connect. */
  readonly share: number;
  readonly short: string;
  readonly text: string;
  readonly opens: boolean;
  readonly closes: boolean;
  readonly isSelf: boolean;
  readonly isHidden: boolean;
  readonly byFamily: boolean;
  readonly undecided: boolean;
  readonly audited: boolean;
}

const squares = new WeakMap<Line, WeakMap<Line, Square>>();

/** The same object as before where nothing of it has changed: its cell need not be drawn again. */
export function squareOf(of: Model, from: Line, to: Line): Square {
  const isLarge = from.rows.length * to.rows.length > MOST_PAIRS;
  const now = isLarge && !hidesCommon.value ? squareByEnds(of, from, to) : squareByRows(of, from, to);
  const row = getOrMake(squares, from, () => new WeakMap<Line, Square>());
  const before = row.get(to);
  if (before !== undefined && isSameSquare(before, now)) return before;
  row.set(to, now);
  return now;
}

function isSameSquare(a: Square, b: Square): boolean {
  for (const key in a) if (a[key as keyof Square] !== b[key as keyof Square]) return false;
  return true;
}

/** Squares of more pairs are counted by ends, of which there are fewer: a screen has hundreds of squares. */
const MOST_PAIRS = 400;

function squareByRows(of: Model, from: Line, to: Line): Square {
  const { rows, ends, cells, types } = of;
  const [changed, audited] = [changeMarks.value, auditMarks.value];
  const common = hidesCommon.value ? commonTypes.value : undefined;
  const tally = { judged: 0, some: 0, all: 0, hidden: 0, changed: 0, audited: 0 };
  let [only, byFamily, undecided]: [CellType | undefined, boolean, boolean] = [undefined, false, false];
  for (const a of from.rows) {
    const isWorkload = rows[a]!.kind === 'workload';
    for (const b of to.rows) {
      const type = types[cells[rows[a]!.end * ends + rows[b]!.end]!]!;
      if (type.kind === 'apart') continue;
      tally.judged++;
      const at = a * rows.length + b;
      tally.changed |= changed[at]!;
      tally.audited |= audited[at]!;
      if (isWorkload && common?.[b] !== undefined) tally.hidden++;
      else if (type.kind !== 'none') tally[type.kind]++;
      byFamily ||= type.byFamily === true;
      undecided ||= type.undecided === true;
      only = type;
    }
  }
  const open = tally.some + tally.all;
  const isOne = from.row !== undefined && to.row !== undefined;
  return {
    kind: kindOf(tally, open),
    share: tally.judged === 0 ? 0 : open / tally.judged,
    short: isOne && tally.hidden === 0 ? (only?.short ?? '') : '',
    text: textOf(tally, open, isOne ? only : undefined),
    ...signsOf(tally.changed),
    isSelf: isOne && isSelf(of, from.rows[0]!, to.rows[0]!),
    isHidden: tally.hidden > 0,
    byFamily,
    undecided,
    audited: tally.audited > 0,
  };
}

function signsOf(marks: number): Pick<Square, 'opens' | 'closes'> {
  return { opens: (marks & OPENS) > 0, closes: (marks & CLOSES) > 0 };
}

function squareByEnds(of: Model, from: Line, to: Line): Square {
  const tally = { judged: 0, some: 0, all: 0 };
  let [byFamily, undecided] = [false, false];
  const columns = countsByEnd(of, to);
  for (const [a, rows] of countsByEnd(of, from))
    for (const [b, others] of columns) {
      const type = of.types[of.cells[a * of.ends + b]!]!;
      if (type.kind === 'apart') continue;
      tally.judged += rows * others;
      if (type.kind !== 'none') tally[type.kind] += rows * others;
      byFamily ||= type.byFamily === true;
      undecided ||= type.undecided === true;
    }
  const open = tally.some + tally.all;
  return {
    kind: kindOf(tally, open),
    share: tally.judged === 0 ? 0 : open / tally.judged,
    short: '',
    text: textOf(tally, open, undefined),
    ...signsOf(changesOfGroups.value(from.group, to.group)),
    isSelf: false,
    isHidden: false,
    byFamily,
    undecided,
    audited: auditsOfGroups.value(from.group, to.group) > 0,
  };
}

function countsByEnd({ rows }: Model, line: Line): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const row of line.rows) counts.set(rows[row]!.end, (counts.get(rows[row]!.end) ?? 0) + 1);
  return counts;
}

const changesOfGroups = computed(() => marksOfGroups(rows.value, changeMarks.value));
const auditsOfGroups = computed(() => marksOfGroups(rows.value, auditMarks.value));

function marksOfGroups(of: readonly Row[], marks: Marks): (from: string, to: string) => number {
  if (marks === NO_MARKS) return () => 0;
  const numbers = new Map<string, number>();
  const groupOf = of.map(({ group }) => getOrMake(numbers, group, () => numbers.size));
  const found = new Uint8Array(numbers.size ** 2);
  for (const [i, from] of groupOf.entries())
    for (const [j, to] of groupOf.entries()) found[from * numbers.size + to]! |= marks[i * of.length + j]!;
  return (from, to) => found[numbers.get(from)! * numbers.size + numbers.get(to)!]!;
}

interface Tally {
  readonly judged: number;
  readonly some: number;
  readonly all: number;
}

function kindOf({ judged, some, all }: Tally, open: number): Square['kind'] {
  if (judged === 0) return 'apart';
  if (open === 0) return 'none';
  if (open < judged) return 'part';
  return some === 0 && all > 0 ? 'all' : 'some';
}

function textOf({ judged }: Tally, open: number, only: CellType | undefined): string {
  if (judged === 0) return 'policy has no say';
  return only?.text ?? (open === 0 ? 'none' : `${open} of ${judged} pairs`);
}
