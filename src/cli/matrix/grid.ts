/** A matrix as a grid, for as long as it fits the terminal. */
import Table from 'cli-table3';
import { cellText } from '../../answers/reach/connectionstext.ts';
import type { EndView, MatrixView } from '../../answers/reach/view.ts';
import { endText, isJudged, type Row } from './rows.ts';

/** Undefined where it does not fit. */
export function gridLines(view: MatrixView, rows: readonly Row[], width: number): string[] | undefined {
  const shown = view.ends.filter(end => rows.some(({ from, to }) => from === end || to === end));
  const numbers = new Map(shown.map((end, i) => [end, i + 1]));
  const destinations = shown.filter(end => rows.some(({ to }) => to === end));
  const lines = shown.map(from => {
    const name = `${numbers.get(from)} ${endText(from, 2)}`;
    return [name, ...destinations.map(to => gridCell(view, rows, from, to))];
  });
  const head = ['from \\ to', ...destinations.map(to => String(numbers.get(to)))];
  const text = new Table({ head, ...PLAIN });
  text.push(...lines);
  const found = text
    .toString()
    .split('\n')
    .map(line => line.trimEnd());
  return found.every(line => line.length <= width) ? found : undefined;
}

function gridCell(view: MatrixView, rows: readonly Row[], from: EndView, to: EndView): string {
  if (!isJudged(from, to)) return '';
  const row = rows.find(each => each.from === from && each.to === to);
  return row === undefined ? '-' : cellText(view.pool, row.cell).replaceAll(/; | \| /g, '\n');
}

const PLAIN = {
  chars: {
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: '  ',
  },
  style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
};
