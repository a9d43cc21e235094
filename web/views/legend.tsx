/** Around the matrix: what is folded and hidden, and what the signs mean. */
import { isRoomy } from '../state/cursor.ts';
import { foldAll, lines, MOST_OPEN_LINES } from '../state/grid.ts';
import { changes, model } from '../state/manifests.ts';
import { hidesCommon } from '../state/view.ts';

export function Tools() {
  const isFoldable = lines.value.some(({ row }) => row === undefined);
  return (
    <div class="matrix-tools">
      <button type="button" class="quiet" onClick={() => foldAll(isFoldable)}>
        {isFoldable ? 'Open all namespaces' : 'Fold namespaces'}
      </button>
      <label>
        <input
          type="checkbox"
          checked={hidesCommon.value}
          onChange={({ currentTarget }) => {
            hidesCommon.value = currentTarget.checked;
          }}
        />{' '}
        Hide what everybody has
      </label>
      {lines.value.length > MOST_OPEN_LINES && <span class="hint">{lines.value.length} lines</span>}
    </div>
  );
}

/** The index of the type of ends that policy has no say between. */
const APART = 0;

/** Signs that do not occur would be read in vain. */
export function Legend() {
  const of = model.value;
  const edits = new Set(changes.value?.changes.map(({ kind }) => kind));
  const has = (what: 'byFamily' | 'undecided') => of?.types.some(type => type[what]) ?? false;
  const hasWorkloads = (of?.counts.workloads ?? 0) > 0;
  // Without ports in the cells, nothing is cut off there.
  const shorts = isRoomy.value ? (of?.types.map(({ short }) => short) ?? []) : [];
  return (
    <ul class="legend" aria-label="Signs of the matrix">
      <li>
        <i data-kind="all" />
        all ports
      </li>
      <li>
        <i data-kind="some" />
        some ports
      </li>
      {lines.value.some(({ row }) => row === undefined) && (
        <li>
          <i data-kind="part" />
          some pairs: the larger, the more
        </li>
      )}
      <li>
        <i data-kind="none" />
        none
      </li>
      {hasWorkloads && (
        <li>
          <i data-kind="self" />
          between pods of one workload; a pod may always reach itself
        </li>
      )}
      {of?.cells.includes(APART) && (
        <li>
          <i data-kind="apart" />
          neither end is a pod: policy has no say
        </li>
      )}
      {edits.has('opens') && (
        <li>
          <i data-kind="opens">+</i>an edit opens something
        </li>
      )}
      {edits.has('closes') && (
        <li>
          <i data-kind="closes">−</i>an edit closes something
        </li>
      )}
      {shorts.some(short => short.endsWith('…')) && (
        <li>
          <i>…</i>and more ports
        </li>
      )}
      {shorts.includes('most') && (
        <li>
          <b>most</b>all ports but some
        </li>
      )}
      {has('byFamily') && (
        <li>
          <i>6</i>IPv4 and IPv6 differ
        </li>
      )}
      {has('undecided') && (
        <li>
          <i>?</i>depends on what is not known
        </li>
      )}
      {of !== undefined && of.audited.length > 0 && (
        <li>
          <i>◦</i>audited policies would change it
        </li>
      )}
      {of?.rows.some(({ part }) => part !== undefined) && (
        <li>
          <i>½</i>only some pods of it
        </li>
      )}
      {hidesCommon.value && (
        <li>
          <i>·</i>what everybody has
        </li>
      )}
    </ul>
  );
}
