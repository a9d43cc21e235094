/** One end in the middle: who may reach it, and whom it may reach. Those that may do the same are one box. */
import { computed } from '@preact/signals';
import type { Row } from '../core/protocol.ts';
import { linksOf } from '../state/links.ts';
import { model, overview } from '../state/manifests.ts';
import { focused, keyOf, nameOf, rowsByKey, select } from '../state/view.ts';
import { Layers } from './layers.tsx';
import { Part } from './part.tsx';
import { Ways } from './ways.tsx';

const middle = computed(() => {
  const all = model.value?.rows ?? [];
  const asked = focused.value === undefined ? undefined : rowsByKey.value.get(focused.value);
  return asked ?? (all.length > 0 ? 0 : undefined);
});

/** Ends that may do the same. */
interface Group {
  readonly text: string;
  readonly rows: readonly number[];
  readonly sign: string;
}

function groupsOf(at: number, direction: 'to' | 'from'): readonly Group[] {
  const { rows } = model.value!;
  const found = new Map<string, { text: string; rows: number[]; sign: string }>();
  for (const { row, text, sign } of linksOf(at, direction === 'to' ? 'in' : 'out')) {
    const { kind } = rows[row]!;
    const key = `${kind === 'workload' ? '' : kind} ${text} ${sign}`;
    const group = found.get(key);
    if (group === undefined) found.set(key, { text, rows: [row], sign });
    else group.rows.push(row);
  }
  return [...found.values()].sort((a, b) => b.rows.length - a.rows.length);
}

export function Focus() {
  const of = model.value;
  const at = middle.value;
  if (of === undefined || at === undefined) return <p class="empty">There is no end to look at.</p>;
  const row = of.rows[at]!;
  const [sources, targets] = [groupsOf(at, 'to'), groupsOf(at, 'from')];
  return (
    <div class="focus">
      <label class="focus-choice">
        Around{' '}
        <select
          value={keyOf(row)}
          onChange={({ currentTarget }) => {
            focused.value = currentTarget.value;
          }}
        >
          {of.rows.map(each => (
            <option key={keyOf(each)} value={keyOf(each)}>
              {nameOf(each)}
              {each.part === undefined ? '' : ` (${each.part})`}
            </option>
          ))}
        </select>
      </label>
      <p class="hint">
        {count(sources)} may reach it · it may reach {count(targets)}
      </p>
      <div class="focus-sides">
        <Side title="Who may reach it" groups={sources} at={at} direction="to" />
        <div class="focus-middle">
          <small>{row.kind === 'workload' ? row.group : row.kind}</small>
          <b>{row.name}</b>
        </div>
        <Side title="Whom it may reach" groups={targets} at={at} direction="from" />
      </div>
      <Ways ways={overview.value?.ways.filter(({ to }) => to === row.member) ?? []} />
      <Layers at={at} />
    </div>
  );
}

function count(groups: readonly Group[]): string {
  const all = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  return `${all} ${all === 1 ? 'end' : 'ends'}`;
}

interface SideProps {
  readonly title: string;
  readonly groups: readonly Group[];
  readonly at: number;
  readonly direction: 'to' | 'from';
}

function Side({ title, groups, at, direction }: SideProps) {
  return (
    <section class="focus-side" data-direction={direction}>
      <h2>{title}</h2>
      {groups.length === 0 && <p class="empty">nobody</p>}
      <ul>
        {groups.map(group => (
          <li key={`${group.text} ${group.rows[0]}`} class="focus-group" data-sign={group.sign}>
            <GroupBox group={group} at={at} direction={direction} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function GroupBox({
  group: { text, rows, sign },
  at,
  direction,
}: {
  readonly group: Group;
  readonly at: number;
  readonly direction: 'to' | 'from';
}) {
  const all = model.value!.rows;
  const ask = (index: number) =>
    direction === 'to' ? select(all[index]!, all[at]!) : select(all[at]!, all[index]!);
  const what = (
    <span class="ports">
      {sign !== '' && <span class="sign">{sign}</span>} {text}
    </span>
  );
  if (rows.length <= MOST_LISTED)
    return (
      <>
        {rows.map(index => (
          <EndButton key={index} row={all[index]!} onClick={() => ask(index)} />
        ))}
        {what}
      </>
    );
  return (
    <Part name={`${direction} ${all[rows[0]!]!.kind} ${text} ${sign}`}>
      <summary>
        <b>
          {rows.length} {manyText(rows.map(index => all[index]!))}
        </b>
        {what}
      </summary>
      {rows.slice(0, MOST_SHOWN).map(index => (
        <EndButton key={index} row={all[index]!} onClick={() => ask(index)} />
      ))}
      {rows.length > MOST_SHOWN && <small>and {rows.length - MOST_SHOWN} more</small>}
    </Part>
  );
}

const MOST_LISTED = 3;
const MOST_SHOWN = 300;

/** `workloads of shop`, `nodes`. */
function manyText(rows: readonly Row[]): string {
  const [first] = rows;
  if (first!.kind !== 'workload') return first!.group;
  const groups = new Set(rows.map(({ group }) => group));
  return groups.size === 1 ? `workloads of ${first!.group}` : `workloads of ${groups.size} namespaces`;
}

function EndButton({ row, onClick }: { readonly row: Row; readonly onClick: () => void }) {
  return (
    <button type="button" class="end" onClick={onClick} title={`${row.member}: why?`}>
      {row.kind === 'workload' && <small>{row.group}/</small>}
      {row.name}
      {row.part !== undefined && <small> {row.part}</small>}
    </button>
  );
}
