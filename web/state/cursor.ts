/** The cell of the matrix that the keyboard is at, how large cells are, and the keys. */
import { computed, signal } from '@preact/signals';
import { isOpen, type Line, lines, toggleFold } from './grid.ts';
import { select } from './view.ts';

/** The cell that the keyboard is at. */
export const cursor = signal<readonly [row: number, column: number]>([0, 0]);

/** With few lines there is room for ports in the cells. */
const ROOMY = 16;
export const isRoomy = computed(() => lines.value.length <= ROOMY);
export const size = computed(() => (isRoomy.value ? 38 : 22));

export const HEAD_PX = 132;
export const LABEL_PX = 208;
export const NARROW_LABEL_PX = 124;
export function choose(from: Line, to: Line, row: number, column: number): void {
  cursor.value = [row, column];
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

/** Arrows go from cell to cell; Enter explains one or opens a namespace; F folds the namespace of the row. */
export function onKey(event: KeyboardEvent, box: HTMLElement, label: number): void {
  const all = lines.value;
  const [row, column] = cursor.value.map(at => Math.min(at, all.length - 1)) as [number, number];
  const step = STEPS[event.key];
  const [from, to] = [all[row], all[column]];
  if (step !== undefined) {
    const within = (at: number) => Math.max(0, Math.min(all.length - 1, at));
    cursor.value = [within(row + step[0]), within(column + step[1])];
    scrollTo(box, label);
  } else if (event.key === 'Enter' || event.key === ' ') {
    if (from !== undefined && to !== undefined) choose(from, to, row, column);
  } else if (event.key.toLowerCase() === 'f' && !event.ctrlKey && !event.metaKey && from !== undefined)
    toggleFold(from.group);
  else return;
  event.preventDefault();
}

function scrollTo(box: HTMLElement, label: number): void {
  const [row, column] = cursor.value;
  const side = size.value;
  const within = (at: number, now: number, length: number) =>
    at < now ? at : at + side > now + length ? at + side - length : now;
  box.scrollTop = within(row * side, box.scrollTop, box.clientHeight - HEAD_PX);
  box.scrollLeft = within(column * side, box.scrollLeft, box.clientWidth - label);
}
