/** A matrix as a document of a format: CSV, a graph for Graphviz, Markdown, HTML. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { FAMILIES } from '../../model/address.ts';
import type { Direction } from '../../model/policy.ts';
import { memberName } from '../../model/workload.ts';
import { ENTRYWAYS, entrywayGroups, entrywayText } from '../entrances/waytext.ts';
import { stricter } from '../questions/answer.ts';
import { cellText, familyText } from './connectionstext.ts';
import {
  endText,
  exposureTexts,
  exposureTitle,
  isJudged,
  isolationText,
  legendOf,
  listed,
  memberText,
  type Row,
} from './rows.ts';
import type { EndView, MatrixView } from './view.ts';

/** A matrix as comma-separated values (RFC 4180): a line for each pair of members, for a spreadsheet to sort. */
export function* csvLines(view: MatrixView, rows: readonly Row[]): Generator<string> {
  yield 'from,to,ipv4,ipv6,egress of from,ingress of to';
  const text = (cell: Row['cell']) => FAMILIES.map(family => familyText(view.pool, cell, family) ?? '');
  for (const { from, to, cell } of rows)
    for (const source of from.members)
      for (const destination of to.members)
        yield lineOf([
          ...[memberText(from, source), memberText(to, destination), ...text(cell)],
          ...[isolationWord(view, source, 'egress'), isolationWord(view, destination, 'ingress')],
        ]);
  for (const { direction, members, whom, cell } of view.exposures)
    for (const member of members) {
      const word = isolationWord(view, member, direction);
      const [name, isTo] = [memberName(member), direction === 'ingress'];
      yield lineOf(isTo ? [whom, name, ...text(cell), '', word] : [name, whom, ...text(cell), word, '']);
    }
  for (const values of entrywayValues(view)) yield lineOf(values);
}

/** The last of the connections, by the address family over which it is opened. */
function* entrywayValues({ isolation, entryways }: MatrixView): Generator<string[]> {
  for (const { way, objects } of entrywayGroups(entryways)) {
    const { steps, to, protocol, port } = way;
    const through = way.controller ? ` through ${memberName(way.controller)}` : '';
    const from = `${steps[0].from} by ${firstOf(objects, 3)}${through}`;
    const texts = FAMILIES.map(family => {
      const verdict = steps.at(-1)!.families[family];
      if (verdict === undefined) return '';
      const word = stricter(verdict, steps[0].verdict);
      return word === 'deny' ? 'none' : `${word === 'allow' ? '' : 'undecided '}${protocol} ${port}`;
    });
    yield [from, memberName(to), ...texts, '', isolationWord({ isolation }, to, 'ingress')];
  }
}

/** Empty where the member is no workload. */
function isolationWord(
  { isolation }: Pick<MatrixView, 'isolation'>,
  member: string,
  direction: Direction,
): string {
  const covered = isolation.get(member);
  if (covered === undefined) return '';
  return covered[direction].isolated ? 'isolated' : 'open';
}

function lineOf(values: readonly string[]): string {
  return values.map(quoted).join(',');
}

/** Quoted so that a spreadsheet does not take a name for a formula. */
function quoted(value: string): string {
  const safe = /^[=+\-@]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A matrix as a graph for Graphviz: an arrow for each connection, dashed for pods that do not exist yet. */
export function dotLines(view: MatrixView, rows: readonly Row[]): string[] {
  const ids = new Map(view.ends.map((end, i) => [end, `end${i}`]));
  const used = new Set(rows.flatMap(({ from, to }) => [from, to]));
  return [
    'digraph reach {',
    '  rankdir=LR; node [shape=box, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10];',
    ...[...used].map(end => `  ${ids.get(end)} [label=${dotLabel(view, end)}${SHAPES[end.kind]}];`),
    ...rows.map(({ from, to, cell }) => arrow(ids.get(from)!, ids.get(to)!, cellText(view.pool, cell))),
    ...view.exposures.flatMap((_, i) => dotExposures(view, i)),
    ...dotEntryways(view, ids),
    '}',
  ];
}

function dotLabel(view: MatrixView, end: EndView): string {
  const isolated = isolationText(view, end);
  const label = dotQuoted(endText(end, 8));
  return isolated === '' ? label : label.replace(/"$/, `\\nisolated: ${isolated}"`);
}

const SHAPES: Record<EndView['kind'], string> = {
  workload: '',
  node: ', shape=box3d',
  network: ', shape=ellipse',
  domain: ', shape=note',
};

function dotExposures({ pool, exposures }: MatrixView, i: number): string[] {
  const { direction, members, whom, cell } = exposures[i]!;
  const [own, other] = [`open${i}`, `absent${i}`];
  const ends = direction === 'ingress' ? [other, own] : [own, other];
  return [
    `  ${own} [label=${dotQuoted(listed(members.map(memberName), 8))}];`,
    `  ${other} [label=${dotQuoted(whom)}, style=dashed];`,
    arrow(ends[0]!, ends[1]!, cellText(pool, cell), ', style=dashed'),
  ];
}

/** What is allowed from outside; a controller is a diamond. */
function dotEntryways({ entryways }: MatrixView, ids: ReadonlyMap<EndView, string>): string[] {
  const open = entrywayGroups(entryways).filter(({ way }) => way.verdict === 'allow');
  const doors = [...new Set(open.flatMap(({ way }) => way.controller ?? []))];
  const arrows = open.flatMap(({ way: { controller, to, port, protocol }, objects }) => {
    const end = [...ids.keys()].find(({ members }) => members.includes(to));
    const label = `${protocol} ${port} by ${firstOf(objects, 3)}`;
    const from = controller === undefined ? 'outside' : `door${doors.indexOf(controller)}`;
    return end === undefined ? [] : [arrow(from, ids.get(end)!, label)];
  });
  if (arrows.length === 0) return [];
  return [
    '  outside [label="internet", shape=ellipse];',
    ...doors.map((name, i) => `  door${i} [label=${dotQuoted(memberName(name))}, shape=diamond];`),
    ...doors.map((_, i) => arrow('outside', `door${i}`, '')),
    ...arrows,
  ];
}

function arrow(from: string, to: string, label: string, more = ''): string {
  return `  ${from} -> ${to} [label=${dotQuoted(label)}${more}];`;
}

function dotQuoted(text: string): string {
  return `"${text.replace(/["\\]/g, character => `\\${character}`)}"`;
}

// A matrix for a page of a repository.

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
    ...exposureMarkdown(view),
    ...entrywayMarkdown(view),
    ...isolationMarkdown(view, rows),
    '',
    legendOf(view),
  ];
}

export function noteMarkdown(notes: readonly string[]): string[] {
  return notes.flatMap(note => [`> ${escaped(note)}`, '']);
}

function exposureMarkdown(view: MatrixView): string[] {
  if (view.exposures.length === 0) return [];
  const lines = exposureTexts(view).map(({ direction, members, whom, connections }) => {
    const [names, others] = [listed(members.map(memberName), 4), listed(whom, 8)];
    return rowOf([...(direction === 'ingress' ? [others, names] : [names, others]), connections]);
  });
  return ['', `${exposureTitle(view)}:`, '', '| from | to | connections |', '|---|---|---|', ...lines];
}

function entrywayMarkdown({ entryways }: MatrixView): string[] {
  const rows = entrywayGroups(entryways).map(group => rowOf([group.way.verdict, entrywayText(group)]));
  return rows.length === 0 ? [] : ['', `${ENTRYWAYS}:`, '', '| verdict | connection |', '|---|---|', ...rows];
}

function isolationMarkdown(view: MatrixView, rows: readonly Row[]): string[] {
  const shown = view.ends.filter(end => rows.some(({ from, to }) => from === end || to === end));
  const lines = shown.flatMap(end => {
    const text = isolationText(view, end);
    return text === '' ? [] : [rowOf([endText(end), text])];
  });
  return lines.length === 0 ? [] : ['', '| workloads | isolated |', '|---|---|', ...lines];
}

export function rowOf(cells: readonly string[]): string {
  return `| ${cells.map(escaped).join(' | ')} |`;
}

/** Names in a cluster may contain markup; the result is text without any. */
export function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|~&]/g, character => `\\${character}`);
}

// A matrix as one page without other files: a table that screen readers understand and that fits into a mail.

export function htmlLines(
  view: MatrixView,
  rows: readonly Row[],
  source: string,
  notes: readonly string[] = [],
): string[] {
  const shown = view.ends.filter(end => rows.some(({ from, to }) => from === end || to === end));
  const texts = new Map<EndView, Map<EndView, string>>();
  for (const { from, to, cell } of rows)
    getOrMake(texts, from, () => new Map<EndView, string>()).set(to, cellText(view.pool, cell));
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<title>Who reaches whom</title>',
    `<style>${STYLE}</style>`,
    '</head>',
    '<body>',
    '<h1>Who reaches whom</h1>',
    `<p>As the network policies of ${escapedHtml(source)} decide. ${escapedHtml(legendOf(view))}</p>`,
    ...notes.map(note => `<p role="note"><strong>${escapedHtml(note)}</strong></p>`),
    '<div tabindex="0" role="region" aria-label="Matrix">',
    '<table>',
    '<caption>Rows open connections to columns</caption>',
    '<thead>',
    `<tr><th scope="col">from \\ to</th><th scope="col">isolated</th>${shown.map(end => `<th scope="col">${endHtml(end)}</th>`).join('')}</tr>`,
    '</thead>',
    '<tbody>',
    ...shown
      .filter(isSource)
      .map(
        from =>
          `<tr><th scope="row">${endHtml(from)}</th><td>${escapedHtml(isolationText(view, from))}</td>${shown.map(to => cellHtml(from, to, texts)).join('')}</tr>`,
      ),
    '</tbody>',
    '</table>',
    '</div>',
    ...entrywayHtml(view),
    ...exposureHtml(view),
    '</body>',
    '</html>',
  ];
}

/** Names open no connections. */
function isSource({ kind }: EndView): boolean {
  return kind !== 'domain';
}

const STYLE =
  'body{font:16px/1.4 system-ui,sans-serif;margin:2rem;color:#111;background:#fff}' +
  'div[role=region]{overflow:auto;max-height:90vh}table{border-collapse:collapse}caption{text-align:left;padding:.5rem 0}' +
  'th,td{border:1px solid #999;padding:.3rem .6rem;text-align:left;vertical-align:top}thead th{position:sticky;top:0;background:#eee}' +
  'tbody th{position:sticky;left:0;background:#eee;font-weight:600}td.all{background:#fde2c8}td.some{background:#dcefdc}td.none{color:#666}';

function endHtml(end: EndView): string {
  if (end.members.length <= 3) return escapedHtml(endText(end));
  const members = end.members.map(member => `<li>${escapedHtml(memberText(end, member))}</li>`).join('');
  return `<details><summary>${escapedHtml(endText(end))}</summary><ul>${members}</ul></details>`;
}

function cellHtml(
  from: EndView,
  to: EndView,
  texts: ReadonlyMap<EndView, ReadonlyMap<EndView, string>>,
): string {
  if (!isJudged(from, to)) return '<td class="none">not judged</td>';
  const text = texts.get(from)?.get(to) ?? 'none';
  const kind = text === 'none' ? 'none' : text.startsWith('all') ? 'all' : 'some';
  return `<td class="${kind}">${escapedHtml(text)}</td>`;
}

function entrywayHtml({ entryways }: MatrixView): string[] {
  const groups = entrywayGroups(entryways);
  if (groups.length === 0) return [];
  return [
    `<h2>${ENTRYWAYS}</h2>`,
    '<table>',
    '<thead><tr><th scope="col">verdict</th><th scope="col">connection</th></tr></thead>',
    '<tbody>',
    ...groups.map(group => {
      const cells = [group.way.verdict, entrywayText(group)].map(text => `<td>${escapedHtml(text)}</td>`);
      return `<tr>${cells.join('')}</tr>`;
    }),
    '</tbody>',
    '</table>',
  ];
}

function exposureHtml(view: MatrixView): string[] {
  if (view.exposures.length === 0) return [];
  return [
    `<h2>${exposureTitle(view)}</h2>`,
    '<table>',
    '<thead><tr><th scope="col">from</th><th scope="col">to</th><th scope="col">connections</th></tr></thead>',
    '<tbody>',
    ...exposureTexts(view).map(({ direction, members, whom, connections }) => {
      const [names, others] = [members.map(memberName).join(', '), whom.join(', ')];
      const ends = direction === 'ingress' ? [others, names] : [names, others];
      return `<tr>${[...ends, connections].map(text => `<td>${escapedHtml(text)}</td>`).join('')}</tr>`;
    }),
    '</tbody>',
    '</table>',
  ];
}

function escapedHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}
