import type { DiffView } from '../../answers/reach/diff/diffview.ts';
import { memberName } from '../../answers/reach/view.ts';
import pc from '../../terminal/colours.ts';
import { plural } from '../../terminal/plural.ts';
import { wrap } from '../../terminal/wrap.ts';
import { listed } from '../matrix/rows.ts';
import { afterText, beforeText, endsText, whatText } from './changetext.ts';

export function diffLines(view: DiffView, width: number): string[] {
  const { changes } = view;
  if (changes.length === 0) return ['no connection opens or closes', ...workloadLines(view, width)];
  return [
    ...changes.flatMap(change => {
      const colour = change.kind === 'opens' ? pc.green : pc.red;
      const [sign, word] = change.kind === 'opens' ? ['+', 'opens'] : ['-', 'closes'];
      const ends = `${endsText(change.from)} -> ${endsText(change.to)}: ${whatText(view, change)}`;
      return [
        ...wrap(`${sign} ${word.padEnd(6)} ${ends}`, width, 9).map(colour),
        ...wrap(`    ${beforeText(change)}`, width, 6),
        ...wrap(`    ${afterText(change)}`, width, 6),
      ];
    }),
    ...workloadLines(view, width),
    '',
    summary(view),
  ];
}

function workloadLines({ added, removed }: DiffView, width: number): string[] {
  const line = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : wrap(`${what}: ${listed(names.map(memberName), 8)}`, width, 2);
  return [...line('new workloads', added), ...line('workloads that are gone', removed)];
}

/** `3 changes: 2 open, 1 close`. */
export function summary({ changes }: DiffView): string {
  const opens = changes.filter(({ kind }) => kind === 'opens').length;
  return `${plural(changes.length, 'change')}: ${opens} open, ${changes.length - opens} close`;
}
