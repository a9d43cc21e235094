/** The cell of the matrix that the keyboard is at, how large cells are, and the keys. */
import { computed, signal } from '@preact/signals';
import { isOpen, type Line, lines, toggleFold } from './grid.ts';
import { focusOn, select, selected } from './view.ts';

type Cell = readonly [row: number, column: number];

/** The cell that the keyboard was led to. What is filtered or folded since may have fewer lines. */
export const wantedCell = signal<Cell>([0, 0]);
/** The cell that the keyboard is at. */
export const cursor = computed<Cell>(() => [within(wantedCell.value[0]), within(wantedCell.value[1])]);

function within(at: number): number {
  return Math.max(0, Math.min(lines.value.length - 1, at));
}

/** With few lines there is room for ports in the cells. */
const ROOMY = 16;
export const isRoomy = computed(() => lines.value.length <= ROOMY);
export const size = computed(() => (isRoomy.value ? 38 : 22));

export const HEAD_PX = 150;
export const LABEL_PX = 208;
export const NARROW_LABEL_PX = 124;

export function choose(from: Line, to: Line, row: number, column: number): void {
  wantedCell.value = [row, column];
  if (from.row !== undefined && to.row !== undefined) select(from.row, to.row);
  else for (const { group, row } of [from, to]) if (row === undefined && !isOpen(group)) toggleFold(group);
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, Number.NEGATIVE_INFINITY],
  End: [0, Number.POSITIVE_INFINITY],
};

/** What keys do at a cell; views/keys.tsx lists them. */
const ACTS: Readonly<Record<string, (from: Line, to: Line) => void>> = {
  enter: (from, to) => choose(from, to, ...cursor.value),
  ' ': (from, to) => choose(from, to, ...cursor.value),
  f: ({ group }) => toggleFold(group),
  r: ({ row }) => row !== undefined && focusOn(row),
  c: (_, { row }) => row !== undefined && focusOn(row),
  escape: () => {
    selected.value = undefined;
  },
};

export function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const [row, column] = cursor.value;
  const [from, to] = [lines.value[row], lines.value[column]];
  const step = STEPS[event.key];
  const act = ACTS[event.key.toLowerCase()];
  if (from === undefined || to === undefined || (step === undefined && act === undefined)) return;
  event.preventDefault();
  if (step !== undefined) wantedCell.value = [within(row + step[0]), within(column + step[1])];
  else act?.(from, to);
}

/** Brings the cell of the keyboard into sight. */
export function scrollToCursor(box: HTMLElement, label: number): void {
  const [row, column] = cursor.value;
  const side = size.value;
  const scrolled = (at: number, now: number, length: number) =>
    at < now ? at : at + side > now + length ? at + side - length : now;
  box.scrollTop = scrolled(row * side, box.scrollTop, box.clientHeight - HEAD_PX);
  box.scrollLeft = scrolled(column * side, box.scrollLeft, box.clientWidth - label);
}
