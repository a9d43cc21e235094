/**
 * A board as text, at most 80 columns wide. A cell has one letter for each protocol:
 *
 *     T·SI     TCP, SCTP and ICMP pass over IPv4 and over IPv6, UDP over neither
 *     4···     TCP passes over IPv4 only
 */

import { FAMILY_NAME } from '../../src/model/address.ts';
import pc, { type Colours } from '../../src/terminal/colours.ts';
import type { ProbeOutcome } from '../lab/probe/probe.ts';
import {
  BOARD_PROTOCOLS,
  type Board,
  type BoardProtocol,
  type Column,
  type Party,
  type Try,
} from './board.ts';
import { isRight, type Outcomes, type Wrong } from './outcome.ts';

/** Explains the letters. */
export const LEGEND = [
  'T TCP, U UDP, S SCTP, I ICMP: arrived and answered, over IPv4 and over IPv6',
  '· dropped     4, 6 over this family only     - not tried',
];

/** Tries in `changed` are highlighted. */
export function renderBoard(
  outcomes: Outcomes,
  changed: ReadonlySet<Try> = new Set(),
  colors: Colours = pc,
): string[] {
  const { board } = outcomes;
  const cells = cellsOf(outcomes);
  const width = Math.max(...board.rows.map(({ label }) => label.length));
  const lines = board.rows.map(row => {
    const texts = board.columns.map(column => cellText(cells(row, column), changed, colors));
    return `${row.label.padEnd(width)} ${texts.join('')}`.trimEnd();
  });
  return [...headings(board, width, colors), ...lines];
}

function headings({ columns }: Board, width: number, colors: Colours): string[] {
  return [0, 1, 2].map(line => {
    const texts = columns.map(({ heading }) => ` ${heading[line]!.padEnd(CELL)}`);
    return colors.bold(`${''.padEnd(width)} ${texts.join('')}`.trimEnd());
  });
}

interface Seen {
  readonly try: Try;
  readonly observed: ProbeOutcome;
}

function cellsOf({ board, observed }: Outcomes): (row: Party, column: Column) => Seen[] {
  const seen = board.tries.map((one, index) => ({ try: one, observed: observed[index]! }));
  return (row, column) => seen.filter(({ try: one }) => one.row === row && one.column === column);
}

const CELL = 5; // Four letters and the mark of a change.

function cellText(seen: readonly Seen[], changed: ReadonlySet<Try>, colors: Colours): string {
  if (seen.length === 0) return ` ${colors.dim('-')}${' '.repeat(CELL - 1)}`;
  const letters = BOARD_PROTOCOLS.map(protocol => letterText(seen, protocol, changed, colors));
  const mark = seen.some(({ try: one }) => changed.has(one)) ? colors.yellow('*') : ' ';
  return ` ${letters.join('')}${mark}`;
}

function letterText(
  seen: readonly Seen[],
  protocol: BoardProtocol,
  changed: ReadonlySet<Try>,
  colors: Colours,
): string {
  const both = seen.filter(({ try: one }) => one.protocol === protocol);
  if (both.length === 0) return ' ';
  const letter = letterOf(both, protocol);
  if (both.some(({ try: one, observed }) => !isRight(one, observed)))
    return colors.bgRed(colors.white(colors.bold(letter)));
  const plain = letter === '·' ? colors.red(letter) : colors.green(letter);
  return both.some(({ try: one }) => changed.has(one)) ? colors.inverse(plain) : plain;
}

function letterOf(both: readonly Seen[], protocol: BoardProtocol): string {
  const open = both.filter(({ observed }) => observed === 'open');
  if (open.length === 0) return '·';
  if (open.length === both.length) return protocol[0]!;
  return open[0]!.try.family === 'ip' ? '4' : '6';
}

/** `shop/web -> shop/db:5432/TCP over IPv6: policy says deny (…), and the packet passed`. */
export function wrongText({ try: one, observed }: Wrong): string {
  const { egress, ingress, verdict } = one.expected;
  const { reason } = egress.verdict === 'deny' ? egress : ingress;
  const did = observed === 'open' ? 'the packet passed' : 'no answer came';
  return `${tryText(one)}: policy says ${verdict} (${reason}), and ${did}`;
}

function tryText({ row, column, protocol, family }: Try): string {
  const port = protocol === 'ICMP' ? '' : `:${column.service?.port ?? column.port}`;
  return `${row.label} -> ${column.label}${port}/${protocol} over ${FAMILY_NAME[family]}`;
}

/** The clients whose access changed, one line for each: `shop/jobs -> shop/db, the internet`. */
export function changeTexts(changed: readonly Try[]): string[] {
  const byRow = Map.groupBy(changed, ({ row }) => row.label);
  return [...byRow].map(([row, tries]) => {
    const columns = new Set(tries.map(({ column }) => column.label));
    return `${row} -> ${[...columns].join(', ')}`;
  });
}

/** A line of nft's, with what matters in colour. */
export function renderNft(text: string, colors: Colours = pc): string {
  return text
    .replace(/comment "[^"]*"/g, comment => colors.dim(comment))
    .replace(/\baccept\b/, colors.green('accept'))
    .replace(/\bdrop\b/, colors.red('drop'));
}
