/** A comparison as the comment of a pull request. */
import type { DiffView } from '../../answers/reach/diff/diffview.ts';
import { memberName } from '../../answers/reach/view.ts';
import { escaped, rowOf } from '../matrix/markdown.ts';
import { listed } from '../matrix/rows.ts';
import { afterText, beforeText, endsText, whatText } from './changetext.ts';
import { summary } from './text.ts';

/** More would be no comment that anybody reads, nor one that GitHub takes. */
const MOST_ROWS = 200;

export function diffMarkdown(view: DiffView): string[] {
  const { changes, added, removed } = view;
  const names = (what: string, all: readonly string[]) =>
    all.length === 0 ? [] : ['', `${what}: ${escaped(listed(all.map(memberName), 20))}`];
  const workloads = [...names('New workloads', added), ...names('Workloads that are gone', removed)];
  if (changes.length === 0) return ['**No connection opens or closes.**', ...workloads];
  return [
    `**${summary(view)}**`,
    '',
    '| | from | to | connections | before | after |',
    '|---|---|---|---|---|---|',
    ...changes
      .slice(0, MOST_ROWS)
      .map(change =>
        rowOf([
          change.kind,
          endsText(change.from),
          endsText(change.to),
          whatText(view, change),
          beforeText(change),
          afterText(change),
        ]),
      ),
    ...(changes.length > MOST_ROWS ? ['', `and ${changes.length - MOST_ROWS} more changes`] : []),
    ...workloads,
  ];
}
