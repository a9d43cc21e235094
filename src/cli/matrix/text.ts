/** A matrix at a terminal: as a grid where it fits the width, else a block of lines for each end that reaches others. */
import { cellText } from '../../answers/reach/connectionstext.ts';
import { type ExposureView, type MatrixView, memberName } from '../../answers/reach/view.ts';
import pc from '../../terminal/colours.ts';
import { beside, wrap } from '../../terminal/wrap.ts';
import { gridLines } from './grid.ts';
import { endText, legendOf, listed, type Row } from './rows.ts';

/** A grid of more rows is compared cell by cell in vain. */
const MOST_GRID_ROWS = 400;

export function matrixLines(view: MatrixView, rows: readonly Row[], width: number): string[] {
  const isGrid = rows.length > 0 && rows.length <= MOST_GRID_ROWS;
  const grid = isGrid ? gridLines(view, rows, width) : undefined;
  const parts = [
    grid ?? blockLines(view, rows, width),
    exposureLines(view, width),
    wrap(legendOf(view), width).map(pc.dim),
  ];
  return parts.filter(lines => lines.length > 0).flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]));
}

function blockLines(view: MatrixView, rows: readonly Row[], width: number): string[] {
  const column = Math.min(
    36,
    Math.floor(width / 2) - 2,
    Math.max(0, ...rows.map(({ to }) => endText(to).length + 5)),
  );
  return view.ends
    .flatMap(from => {
      const own = rows.filter(row => row.from === from);
      if (own.length === 0) return [];
      return [
        '',
        ...wrap(endText(from, 6), width, 4).map(pc.bold),
        ...own.flatMap(row => rowLines(view, row, column, width)),
      ];
    })
    .slice(1);
}

function rowLines(view: MatrixView, { to, cell }: Row, column: number, width: number): string[] {
  return beside(`  -> ${endText(to)}`, cellText(view.pool, cell), column, width);
}

function exposureLines({ pool, exposures }: MatrixView, width: number): string[] {
  if (exposures.length === 0) return [];
  const line = ({ direction, members, whom, cell }: ExposureView) => {
    const [names, text] = [listed(members.map(memberName), 4), cellText(pool, cell)];
    const words = direction === 'ingress' ? `${names} <- ${whom}: ${text}` : `${names} -> ${whom}: ${text}`;
    return wrap(`  ${words}`, width, 6);
  };
  return [pc.bold('Open to pods that are not there yet'), ...exposures.flatMap(line)];
}
