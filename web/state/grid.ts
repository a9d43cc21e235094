/** The lines of the matrix and their cells: namespaces folded or open, filtered, and with what an edit changes. */
import { computed } from '@preact/signals';
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

const groups = computed<ReadonlyMap<string, readonly number[]>>(() => {
  const found = new Map<string, number[]>();
  for (const [i, row] of (model.value?.rows ?? []).entries()) {
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
  const { rows = [] } = model.value ?? {};
  let wasOpen = false;
  return [...groups.value].flatMap(([group, indexes]): Line[] => {
    const [isFirst, opened] = [wasOpen || isOpen(group), isOpen(group)];
    wasOpen = opened;
    if (!opened) return [{ group, rows: indexes, isFirst }];
    return indexes.map((index, i) => ({ group, rows: [index], row: rows[index]!, isFirst: i === 0 }));
  });
});

export function toggleFold(group: string): void {
  folds.value = new Map([...folds.value, [group, !isOpen(group)]]);
}

export function foldAll(areOpen: boolean): void {
  folds.value = new Map([...groups.value.keys()].map(group => [group, areOpen]));
}

// Changes by pair of rows.

/** What an edit, or enforcing audited policies, does to a pair. */
export interface Mark {
  readonly opens: boolean;
  readonly closes: boolean;
}

export const changeMarks = computed(() => marksOf(model.value, changes.value?.changes ?? []));
const auditMarks = computed(() => marksOf(model.value, model.value?.audited ?? []));

function marksOf(of: Model | undefined, all: readonly Change[]): ReadonlyMap<number, Mark> {
  const marks = new Map<number, Mark>();
  if (of === undefined || all.length === 0) return marks;
  const byMember = new Map<string, number[]>();
  for (const [i, { member }] of of.rows.entries()) byMember.set(member, [...(byMember.get(member) ?? []), i]);
  for (const { kind, from, to } of all)
    for (const a of from.flatMap(member => byMember.get(member) ?? []))
      for (const b of to.flatMap(member => byMember.get(member) ?? [])) {
        const known = marks.get(a * of.rows.length + b);
        marks.set(a * of.rows.length + b, {
          opens: kind === 'opens' || (known?.opens ?? false),
          closes: kind === 'closes' || (known?.closes ?? false),
        });
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
  readonly opens: number;
  readonly closes: number;
  readonly isSelf: boolean;
  readonly isHidden: boolean;
  readonly byFamily: boolean;
  readonly undecided: boolean;
  readonly audited: boolean;
}

export function squareOf(of: Model, from: Line, to: Line): Square {
  const isLarge = from.rows.length * to.rows.length > MOST_PAIRS;
  return isLarge && !hidesCommon.value ? squareByEnds(of, from, to) : squareByRows(of, from, to);
}

/** Squares of more pairs are counted by ends, of which there are fewer: a screen has hundreds of squares. */
const MOST_PAIRS = 400;

function squareByRows(of: Model, from: Line, to: Line): Square {
  const tally = { judged: 0, some: 0, all: 0, opens: 0, closes: 0, hidden: 0, audited: 0 };
  let [only, byFamily, undecided]: [CellType | undefined, boolean, boolean] = [undefined, false, false];
  for (const a of from.rows)
    for (const b of to.rows) {
      const type = typeAt(of, a, b);
      if (type.kind === 'apart') continue;
      tally.judged++;
      const at = a * of.rows.length + b;
      const mark = changeMarks.value.get(at);
      if (mark?.opens) tally.opens++;
      if (mark?.closes) tally.closes++;
      if (auditMarks.value.has(at)) tally.audited++;
      if (isHidden(of, a, b)) tally.hidden++;
      else if (type.kind !== 'none') tally[type.kind]++;
      byFamily ||= type.byFamily === true;
      undecided ||= type.undecided === true;
      only = type;
    }
  const open = tally.some + tally.all;
  const isOne = from.row !== undefined && to.row !== undefined;
  return {
    kind: kindOf(tally, open),
    share: tally.judged === 0 ? 0 : open / tally.judged,
    short: isOne && tally.hidden === 0 ? (only?.short ?? '') : '',
    text: textOf(tally, open, isOne ? only : undefined),
    opens: tally.opens,
    closes: tally.closes,
    isSelf: isOne && isSelf(of, from.rows[0]!, to.rows[0]!),
    isHidden: tally.hidden > 0,
    byFamily,
    undecided,
    audited: tally.audited > 0,
  };
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
  const key = `${from.group}\0${to.group}`;
  return {
    kind: kindOf(tally, open),
    share: tally.judged === 0 ? 0 : open / tally.judged,
    short: '',
    text: textOf(tally, open, undefined),
    opens: changesOfGroups.value.get(key)?.opens ? 1 : 0,
    closes: changesOfGroups.value.get(key)?.closes ? 1 : 0,
    isSelf: false,
    isHidden: false,
    byFamily,
    undecided,
    audited: auditsOfGroups.value.has(key),
  };
}

function countsByEnd({ rows }: Model, line: Line): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const row of line.rows) counts.set(rows[row]!.end, (counts.get(rows[row]!.end) ?? 0) + 1);
  return counts;
}

const changesOfGroups = computed(() => marksOfGroups(model.value, changeMarks.value));
const auditsOfGroups = computed(() => marksOfGroups(model.value, auditMarks.value));

function marksOfGroups(of: Model | undefined, marks: ReadonlyMap<number, Mark>): ReadonlyMap<string, Mark> {
  const found = new Map<string, Mark>();
  if (of === undefined) return found;
  for (const [at, { opens, closes }] of marks) {
    const [from, to] = [of.rows[Math.floor(at / of.rows.length)]!, of.rows[at % of.rows.length]!];
    const key = `${from.group}\0${to.group}`;
    const known = found.get(key);
    found.set(key, { opens: opens || (known?.opens ?? false), closes: closes || (known?.closes ?? false) });
  }
  return found;
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
