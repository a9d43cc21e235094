/** The matrix: who reaches whom. Only the lines that are in sight are in the document, whatever their number is. */
import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import {
  choose,
  cursor,
  HEAD_PX,
  isRoomy,
  LABEL_PX,
  NARROW_LABEL_PX,
  onKey,
  scrollToCursor,
  size,
} from '../state/cursor.ts';
import { type Line, lines, type Square, squareOf, toggleFold } from '../state/grid.ts';
import { model } from '../state/manifests.ts';
import { filter, focusOn, keyOf, nameOf, selected } from '../state/view.ts';
import { Legend, Tools } from './legend.tsx';

/** Lines beyond the edge, so that a quick scroll finds them there. */
const AROUND = 4;
/** More cells at once would take longer than a frame: the lines below come with the next frames. */
const MOST_CELLS = 250;

export function Matrix() {
  return (
    <div class="matrix" data-roomy={isRoomy.value}>
      <Tools />
      {lines.value.length === 0 ? (
        <p class="empty" role="status">
          {filter.value === '' ? 'There is nothing to show in these manifests.' : 'Nothing has such a name.'}
        </p>
      ) : (
        <>
          <Grid />
          <Legend />
        </>
      )}
    </div>
  );
}

function Grid() {
  const box = useRef<HTMLDivElement>(null);
  const sight = useSignal({ top: 0, left: 0, width: 1200, height: 800 });
  const label = useComputed(() => (sight.value.width < 560 ? NARROW_LABEL_PX : LABEL_PX));
  const look = () => {
    if (box.current === null) return;
    const { scrollTop: top, scrollLeft: left, clientWidth: width, clientHeight: height } = box.current;
    sight.value = { top, left, width, height };
  };
  useEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const [atRow, atColumn] = cursor.value;
  useEffect(() => scrollToCursor(box.current!, label.value), [atRow, atColumn]);
  const shown = lines.value;
  const side = size.value;
  const part = (from: number, length: number) => {
    const first = Math.max(0, Math.floor(from / side) - AROUND);
    return [first, Math.min(shown.length, Math.ceil((from + length) / side) + AROUND)] as const;
  };
  const [top, bottom] = part(sight.value.top, sight.value.height);
  const [left, right] = part(sight.value.left, sight.value.width);
  const columns = useMemo(() => shown.slice(left, right), [shown, left, right]);
  const atOnce = Math.ceil(MOST_CELLS / Math.max(1, columns.length));
  const drawn = useSignal(0);
  const last = Math.min(bottom, top + Math.max(drawn.value, atOnce));
  useLayoutEffect(() => {
    if (last === bottom) return;
    const frame = requestAnimationFrame(() => {
      drawn.value = last - top + atOnce;
    });
    return () => cancelAnimationFrame(frame);
  }, [last, bottom]);
  return (
    <div
      class="matrix-box"
      ref={box}
      onScroll={look}
      role="grid"
      aria-label="Who reaches whom: rows open connections to columns"
      aria-rowcount={shown.length + 1}
      aria-colcount={shown.length + 1}
      tabIndex={0}
      aria-activedescendant={idOf(atRow, atColumn)}
      onKeyDown={onKey}
    >
      <div
        class="matrix-all"
        role="presentation"
        style={{
          width: `${label.value + shown.length * side}px`,
          height: `${HEAD_PX + shown.length * side}px`,
        }}
      >
        <div class="matrix-head" role="row" aria-rowindex={1} style={{ height: `${HEAD_PX}px` }}>
          <div
            class="matrix-corner"
            role="columnheader"
            aria-colindex={1}
            style={{ width: `${label.value}px`, height: `${HEAD_PX}px` }}
          >
            <span>from ↓</span>
            <span>to →</span>
          </div>
          {columns.map((line, i) => (
            <ColumnHead
              key={lineKey(line)}
              line={line}
              index={left + i}
              at={label.value + (left + i) * side}
            />
          ))}
        </div>
        {shown.slice(top, last).map((line, i) => (
          <RowLine
            key={lineKey(line)}
            line={line}
            index={top + i}
            columns={columns}
            first={left}
            label={label.value}
          />
        ))}
      </div>
    </div>
  );
}

function lineKey({ group, row }: Line): string {
  return row === undefined ? `${group}/` : keyOf(row);
}

function idOf(row: number, column: number): string {
  return `cell-${row}-${column}`;
}

function ColumnHead({
  line,
  index,
  at,
}: {
  readonly line: Line;
  readonly index: number;
  readonly at: number;
}) {
  const side = size.value;
  return (
    <div
      class="matrix-column"
      role="columnheader"
      aria-colindex={index + 2}
      data-first={line.isFirst}
      style={{ left: `${at}px`, width: `${side}px`, height: `${HEAD_PX}px` }}
    >
      <LineName line={line} isColumn />
    </div>
  );
}

function LineName({ line, isColumn = false }: { readonly line: Line; readonly isColumn?: boolean }) {
  const { group, row, rows } = line;
  if (row === undefined)
    return (
      <button
        type="button"
        class="line-name"
        tabIndex={-1}
        title={`${group}: ${rows.length} lines are folded`}
        aria-expanded={false}
        onClick={() => toggleFold(group)}
      >
        <span class="fold" aria-hidden="true">
          ▸
        </span>
        <b>{group}</b> <small>{rows.length}</small>
      </button>
    );
  const full = `${nameOf(row)}${row.part === undefined ? '' : ` (${row.part})`}`;
  return (
    <button
      type="button"
      class="line-name"
      tabIndex={-1}
      title={`${row.member}${row.part ? `: ${row.part}` : ''}`}
      onClick={() => focusOn(row)}
    >
      {row.kind === 'workload' && !isColumn && <small>{group}</small>}
      <b data-kind={row.kind}>{row.name}</b>
      {row.part !== undefined && <small>½</small>}
      <span class="out-of-sight">{isColumn ? full : ''}</span>
    </button>
  );
}

interface RowProps {
  readonly line: Line;
  readonly index: number;
  readonly columns: readonly Line[];
  readonly first: number;
  readonly label: number;
}

function RowLine({ line, index, columns, first, label }: RowProps) {
  const of = model.value;
  const side = size.value;
  return (
    <div
      class="matrix-row"
      role="row"
      aria-rowindex={index + 2}
      data-first={line.isFirst}
      style={{ top: `${HEAD_PX + index * side}px`, height: `${side}px` }}
    >
      <div
        class="matrix-label"
        role="rowheader"
        aria-colindex={1}
        style={{ width: `${label}px`, height: `${side}px` }}
      >
        <LineName line={line} />
      </div>
      {of !== undefined &&
        columns.map((column, i) => (
          <Cell
            key={lineKey(column)}
            from={line}
            to={column}
            square={squareOf(of, line, column)}
            row={index}
            column={first + i}
            at={label + (first + i) * side}
          />
        ))}
    </div>
  );
}

interface CellProps {
  readonly from: Line;
  readonly to: Line;
  readonly square: Square;
  readonly row: number;
  readonly column: number;
  readonly at: number;
}

function Cell({ from, to, square, row, column, at }: CellProps) {
  const [atRow, atColumn] = cursor.value;
  const label = labelOf(from, to, square);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys of all its cells
    <div
      class="cell"
      id={idOf(row, column)}
      role="gridcell"
      aria-colindex={column + 2}
      aria-selected={isSelected(from, to)}
      aria-label={label}
      title={label}
      data-kind={square.kind}
      data-self={square.isSelf}
      data-first={to.isFirst}
      data-cursor={row === atRow && column === atColumn}
      data-opens={square.opens}
      data-closes={square.closes}
      style={{ left: `${at}px`, width: `${size.value}px`, height: `${size.value}px` }}
      onClick={() => choose(from, to, row, column)}
    >
      {inside(square)}
    </div>
  );
}

/** No component of its own: there are thousands of cells, and each component takes as long as its elements. */
function inside({ kind, share, short, opens, closes, byFamily, undecided, audited, isHidden }: Square) {
  const sign = `${opens ? '+' : ''}${closes ? '−' : ''}`;
  const side = size.value - 6;
  const grown = kind === 'part' ? Math.round(4 + (side - 6) * Math.sqrt(share)) : side;
  return (
    <>
      {kind !== 'apart' && kind !== 'none' && (
        <span
          class="square"
          style={{ width: `${grown}px`, height: `${isRoomy.value && kind !== 'part' ? side - 4 : grown}px` }}
        >
          {isRoomy.value && sign === '' && short}
        </span>
      )}
      {sign !== '' && <span class="sign">{sign}</span>}
      {isHidden && kind === 'none' && (
        <span class="corner" data-what="common">
          ·
        </span>
      )}
      {undecided && (
        <span class="corner" data-what="undecided">
          ?
        </span>
      )}
      {byFamily && !undecided && (
        <span class="corner" data-what="family">
          6
        </span>
      )}
      {audited && (
        <span class="corner" data-what="audited">
          ◦
        </span>
      )}
    </>
  );
}

function labelOf(
  from: Line,
  to: Line,
  { text, short, opens, closes, isSelf, byFamily, undecided, audited }: Square,
): string {
  const name = ({ row, group }: Line) => (row === undefined ? group : nameOf(row));
  return [
    // What is written in a cell has to be in its label.
    `${name(from)} → ${name(to)}: ${short === 'most' ? 'most ports, ' : ''}${text}${isSelf ? ' to its other pods' : ''}`,
    ...(opens ? ['an edit opens connections'] : []),
    ...(closes ? ['an edit closes connections'] : []),
    ...(byFamily ? ['IPv4 and IPv6 differ'] : []),
    ...(undecided ? ['depends on what is not known'] : []),
    ...(audited ? ['audited policies would change it'] : []),
  ].join('; ');
}

function isSelected({ row: from }: Line, { row: to }: Line): boolean {
  const of = selected.value;
  return from !== undefined && to !== undefined && of?.from === keyOf(from) && of.to === keyOf(to);
}
