/** A picture of the arrows around an end: a column for each step. A list that only screen readers have says the same. */
import { useEffect, useRef } from 'preact/hooks';
import type { Row } from '../core/protocol.ts';
import { type Arrow, type Layers as Found, layersAround, MOST_ARROWS } from '../state/layers.ts';
import { linksOf } from '../state/links.ts';
import { model } from '../state/manifests.ts';
import { focusOn, nameOf } from '../state/view.ts';

export function Layers({ at }: { readonly at: number }) {
  const { rows } = model.value!;
  const found = layersAround({ at, linksOf, kindOf: row => kindOf(rows[row]!) });
  if (!('tooMany' in found) && found.arrows.length === 0) return null;
  return (
    <section class="layers">
      <h2>Step by step</h2>
      {'tooMany' in found ? (
        <p class="hint">
          A picture would have {found.tooMany} arrows. It is drawn up to {MOST_ARROWS}: filter by name, or
          hide what everybody has.
        </p>
      ) : (
        <>
          <p class="hint">
            {count(found.arrows.length, 'arrow')}: each is a connection that is allowed, and leads one column
            on.
            {found.arrows.some(({ step }) => step > 1) &&
              ' After the first step only workloads and the internet are drawn.'}
            {found.isCut && ` Further steps would have more than ${MOST_ARROWS} arrows, and are left out.`}
          </p>
          <Picture found={found} rows={rows} />
          <ul class="out-of-sight">
            {found.arrows.map(arrow => (
              <li key={keyOf(arrow)}>
                {nameOf(rows[arrow.from]!)} → {nameOf(rows[arrow.to]!)}: {whatOf(arrow)}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function kindOf({ kind, name }: Row): 'workload' | 'internet' | 'other' {
  return kind === 'workload' ? 'workload' : kind === 'network' && name === 'internet' ? 'internet' : 'other';
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function keyOf({ way, from, to }: Arrow): string {
  return `${way} ${from} ${to}`;
}

const SIGNS: Readonly<Record<string, string>> = {
  '+': 'opened by an edit',
  '−': 'closed by an edit',
  '+−': 'changed by an edit',
};

function whatOf({ text, sign }: Arrow): string {
  return sign === '' ? text : `${text}, ${SIGNS[sign]}`;
}

/** From box to box, in pixels; columns share the width. */
const BOX_PX = 48;
const STEP_PX = 58;
/** Shares of a column that are beside its boxes. */
const BESIDE = 0.14;

interface PictureProps {
  readonly found: Found;
  readonly rows: readonly Row[];
}

function Picture({ found: { columns, middle, arrows }, rows }: PictureProps) {
  const box = useRef<HTMLDivElement>(null);
  const height = Math.max(...columns.map(column => column.length)) * STEP_PX;
  useEffect(() => {
    const { scrollWidth = 0, clientWidth = 0 } = box.current ?? {};
    box.current!.scrollLeft = ((middle + 0.5) / columns.length) * scrollWidth - clientWidth / 2;
  }, [middle, columns.length]);
  const heights = columns.map(
    column => new Map(column.map((row, i) => [row, height / 2 + (i - (column.length - 1) / 2) * STEP_PX])),
  );
  const share = (column: number) => `${(column / columns.length) * 100}%`;
  return (
    <div
      class="layers-box"
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Picture; the list after it says the same"
    >
      <div
        class="layers-all"
        aria-hidden="true"
        style={{ height: `${height}px`, minWidth: `${columns.length * LEAST_PX}px` }}
      >
        {/* biome-ignore lint/a11y/noSvgWithoutTitle: the list says it */}
        <svg viewBox={`0 0 ${columns.length} ${height}`} preserveAspectRatio="none">
          {arrows.map(arrow => (
            <path key={keyOf(arrow)} d={curve(arrow, middle, heights)} data-sign={arrow.sign} />
          ))}
        </svg>
        {columns.flatMap((column, i) =>
          column.map(row => (
            <button
              key={`${i} ${row}`}
              type="button"
              tabIndex={-1}
              class="layers-end"
              title={nameOf(rows[row]!)}
              data-middle={i === middle}
              data-target={
                i > 0 && arrows.some(arrow => arrow.to === row && columnOf(arrow, middle, 'to') === i)
              }
              style={{
                left: share(i + BESIDE),
                width: share(1 - 2 * BESIDE),
                top: `${heights[i]!.get(row)! - BOX_PX / 2}px`,
                height: `${BOX_PX}px`,
              }}
              onClick={() => focusOn(rows[row]!)}
            >
              <End row={rows[row]!} ports={portsOf(arrows, row, i, middle)} />
            </button>
          )),
        )}
      </div>
    </div>
  );
}

/** A name of ten letters can be read in it. */
const LEAST_PX = 122;

function End({ row, ports }: { readonly row: Row; readonly ports: string }) {
  return (
    <>
      <b>{row.name}</b>
      <small>{ports === '' ? row.group : ports}</small>
    </>
  );
}

/** The place in `columns` of an end of an arrow. */
function columnOf({ way, step }: Arrow, middle: number, end: 'from' | 'to'): number {
  const isOuter = (way === 'in') === (end === 'from');
  const steps = isOuter ? step : step - 1;
  return way === 'in' ? middle - steps : middle + steps;
}

/** What its arrows towards the middle are, once each. */
function portsOf(arrows: readonly Arrow[], row: number, column: number, middle: number): string {
  const own = arrows.filter(arrow => {
    const end = arrow.way === 'in' ? 'from' : 'to';
    return arrow[end] === row && columnOf(arrow, middle, end) === column;
  });
  return [...new Set(own.map(({ text, sign }) => `${sign}${sign && ' '}${text}`))].join(' · ');
}

function curve(arrow: Arrow, middle: number, heights: readonly ReadonlyMap<number, number>[]): string {
  const [a, b] = [columnOf(arrow, middle, 'from'), columnOf(arrow, middle, 'to')];
  const [from, to] = [heights[a]!.get(arrow.from)!, heights[b]!.get(arrow.to)!];
  return `M${a + 1 - BESIDE} ${from}C${a + 1} ${from} ${a + 1} ${to} ${b + BESIDE} ${to}`;
}
