/** A matrix as one page that needs nothing else: a table that a screen reader can walk, and a mail can carry. */

import { cellText } from '../../answers/reach/connectionstext.ts';
import { type EndView, type MatrixView, memberName } from '../../answers/reach/view.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { endText, isJudged, legendOf, memberText, type Row } from './rows.ts';

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
    `<p>As the network policies of ${escaped(source)} decide. ${escaped(legendOf(view))}</p>`,
    ...notes.map(note => `<p role="note"><strong>${escaped(note)}</strong></p>`),
    '<div tabindex="0" role="region" aria-label="Matrix">',
    '<table>',
    '<caption>Rows open connections to columns</caption>',
    '<thead>',
    `<tr><th scope="col">from \\ to</th>${shown.map(end => `<th scope="col">${endHtml(end)}</th>`).join('')}</tr>`,
    '</thead>',
    '<tbody>',
    ...shown
      .filter(isSource)
      .map(
        from =>
          `<tr><th scope="row">${endHtml(from)}</th>${shown.map(to => cellHtml(from, to, texts)).join('')}</tr>`,
      ),
    '</tbody>',
    '</table>',
    '</div>',
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
  if (end.members.length <= 3) return escaped(endText(end));
  const members = end.members.map(member => `<li>${escaped(memberText(end, member))}</li>`).join('');
  return `<details><summary>${escaped(endText(end))}</summary><ul>${members}</ul></details>`;
}

function cellHtml(
  from: EndView,
  to: EndView,
  texts: ReadonlyMap<EndView, ReadonlyMap<EndView, string>>,
): string {
  if (!isJudged(from, to)) return '<td class="none">not judged</td>';
  const text = texts.get(from)?.get(to) ?? 'none';
  const kind = text === 'none' ? 'none' : text.startsWith('all') ? 'all' : 'some';
  return `<td class="${kind}">${escaped(text)}</td>`;
}

function exposureHtml({ pool, exposures }: MatrixView): string[] {
  if (exposures.length === 0) return [];
  return [
    '<h2>Open to pods that are not there yet</h2>',
    '<table>',
    '<thead><tr><th scope="col">from</th><th scope="col">to</th><th scope="col">connections</th></tr></thead>',
    '<tbody>',
    ...exposures.map(({ direction, members, whom, cell }) => {
      const names = members.map(memberName).join(', ');
      const ends = direction === 'ingress' ? [whom, names] : [names, whom];
      return `<tr>${[...ends, cellText(pool, cell)].map(text => `<td>${escaped(text)}</td>`).join('')}</tr>`;
    }),
    '</tbody>',
    '</table>',
  ];
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}
