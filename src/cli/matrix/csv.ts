/** A matrix as comma-separated values (RFC 4180): a line for each pair of members, for a spreadsheet to sort. */
import { connectionsText } from '../../answers/reach/connectionstext.ts';
import { type EndView, type MatrixView, memberName } from '../../answers/reach/view.ts';
import { memberText, type Row } from './rows.ts';

export function* csvLines(view: MatrixView, rows: readonly Row[]): Generator<string> {
  yield 'from,to,ipv4,ipv6';
  const text = ({ ip, ip6 }: Row['cell']) =>
    [ip, ip6].map(connections => (connections === undefined ? '' : connectionsText(view.pool, connections)));
  for (const { from, to, cell } of rows)
    for (const source of membersOf(from))
      for (const destination of membersOf(to)) yield lineOf([source, destination, ...text(cell)]);
  for (const { direction, members, whom, cell } of view.exposures)
    for (const member of members.map(memberName))
      yield lineOf([...(direction === 'ingress' ? [whom, member] : [member, whom]), ...text(cell)]);
}

function membersOf(end: EndView): string[] {
  return end.members.map(member => memberText(end, member));
}

function lineOf(values: readonly string[]): string {
  return values.map(quoted).join(',');
}

/** A spreadsheet takes what begins like a formula for one. */
function quoted(value: string): string {
  const safe = /^[=+\-@]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
