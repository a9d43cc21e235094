/** A matrix as a graph for Graphviz: an arrow for each connection, dashed to what is not there yet. */
import { cellText } from '../../answers/reach/connectionstext.ts';
import { type EndView, type MatrixView, memberName } from '../../answers/reach/view.ts';
import { endText, listed, type Row } from './rows.ts';

export function dotLines(view: MatrixView, rows: readonly Row[]): string[] {
  const ids = new Map(view.ends.map((end, i) => [end, `end${i}`]));
  const used = new Set(rows.flatMap(({ from, to }) => [from, to]));
  return [
    'digraph reach {',
    '  rankdir=LR; node [shape=box, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10];',
    ...[...used].map(end => `  ${ids.get(end)} [label=${quoted(endText(end, 8))}${SHAPES[end.kind]}];`),
    ...rows.map(({ from, to, cell }) => arrow(ids.get(from)!, ids.get(to)!, cellText(view.pool, cell))),
    ...view.exposures.flatMap((_, i) => exposureLines(view, i)),
    '}',
  ];
}

const SHAPES: Record<EndView['kind'], string> = {
  workload: '',
  node: ', shape=box3d',
  network: ', shape=ellipse',
  domain: ', shape=note',
};

function exposureLines({ pool, exposures }: MatrixView, i: number): string[] {
  const { direction, members, whom, cell } = exposures[i]!;
  const [own, other] = [`open${i}`, `absent${i}`];
  const ends = direction === 'ingress' ? [other, own] : [own, other];
  return [
    `  ${own} [label=${quoted(listed(members.map(memberName), 8))}];`,
    `  ${other} [label=${quoted(whom)}, style=dashed];`,
    arrow(ends[0]!, ends[1]!, cellText(pool, cell), ', style=dashed'),
  ];
}

function arrow(from: string, to: string, label: string, more = ''): string {
  return `  ${from} -> ${to} [label=${quoted(label)}${more}];`;
}

export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, character => `\\${character}`)}"`;
}
