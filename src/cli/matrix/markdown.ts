/** A matrix for a page of a repository. */
import { cellText } from '../../answers/reach/connectionstext.ts';
import { type MatrixView, memberName } from '../../answers/reach/view.ts';
import { endText, legendOf, listed, type Row } from './rows.ts';

export function markdownLines(
  view: MatrixView,
  rows: readonly Row[],
  notes: readonly string[] = [],
): string[] {
  return [
    ...noteMarkdown(notes),
    '| from | to | connections |',
    '|---|---|---|',
    ...rows.map(({ from, to, cell }) => rowOf([endText(from), endText(to), cellText(view.pool, cell)])),
    ...exposureLines(view),
    '',
    legendOf(view),
  ];
}

export function noteMarkdown(notes: readonly string[]): string[] {
  return notes.flatMap(note => [`> ${escaped(note)}`, '']);
}

function exposureLines({ pool, exposures }: MatrixView): string[] {
  if (exposures.length === 0) return [];
  const lines = exposures.map(({ direction, members, whom, cell }) => {
    const names = listed(members.map(memberName), 4);
    return rowOf([...(direction === 'ingress' ? [whom, names] : [names, whom]), cellText(pool, cell)]);
  });
  return [
    '',
    'Open to pods that are not there yet:',
    '',
    '| from | to | connections |',
    '|---|---|---|',
    ...lines,
  ];
}

export function rowOf(cells: readonly string[]): string {
  return `| ${cells.map(escaped).join(' | ')} |`;
}

/** Names of a cluster may hold whatever somebody wrote there; what is left is text and no markup. */
export function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|~&]/g, character => `\\${character}`);
}
