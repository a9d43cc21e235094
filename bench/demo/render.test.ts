import pc from 'picocolors';
import { expect, test } from 'vitest';
import { address } from '../lab/topology.ts';
import type { Board, Column, Party, Try } from './board.ts';
import { changedTries, type Outcomes, wrongOnes } from './outcome.ts';
import { changeTexts, renderBoard, wrongText } from './render.ts';

const colors = pc.createColors(true);
const plain = pc.createColors(false);
const [v4, v6] = [address('10.0.0.1'), address('fd00::1')];

const web: Party = { label: 'shop/web', addresses: [v4, v6] };
const db: Column = { label: 'shop/db', addresses: [v4, v6], heading: ['', 'db', ':5432'], port: 5432 };

const says = (verdict: 'allow' | 'deny') =>
  ({ verdict, tier: 'default', reason: `because ${verdict}` }) as const;

function tryOf(protocol: Try['protocol'], family: Try['family'], verdict: 'allow' | 'deny'): Try {
  const at = family === 'ip' ? v4 : v6;
  const expected = { verdict, egress: says('allow'), ingress: says(verdict) };
  return { row: web, column: db, protocol, family, probe: { from: at, to: at, protocol }, expected };
}

function outcomesOf(...tries: [Try, 'open' | 'closed'][]): Outcomes {
  const board: Board = { rows: [web], columns: [db], tries: tries.map(([one]) => one) };
  return { board, observed: tries.map(([, observed]) => observed) };
}

const right = outcomesOf(
  [tryOf('TCP', 'ip', 'allow'), 'open'],
  [tryOf('TCP', 'ip6', 'allow'), 'open'],
  [tryOf('UDP', 'ip', 'deny'), 'closed'],
  [tryOf('UDP', 'ip6', 'deny'), 'closed'],
  [tryOf('SCTP', 'ip', 'deny'), 'closed'],
  [tryOf('SCTP', 'ip6', 'allow'), 'open'],
  [tryOf('ICMP', 'ip', 'allow'), 'open'],
  [tryOf('ICMP', 'ip6', 'deny'), 'closed'],
);

test('renderBoard() shows a letter for what is open, a dot for what is not, and a digit for one family alone', () => {
  expect(renderBoard(right, new Set(), plain)).toEqual([
    '',
    '          db',
    '          :5432',
    'shop/web  T·64',
  ]);
});

test('renderBoard() marks what has changed, and leaves a cell that nobody tried empty', () => {
  const changed = new Set([right.board.tries[2]!]);
  expect(renderBoard(right, changed, plain).at(-1)).toBe('shop/web  T·64*');
  expect(renderBoard({ board: { ...right.board, tries: [] }, observed: [] }, changed, plain).at(-1)).toBe(
    'shop/web  -',
  );
});

const wrong = outcomesOf([tryOf('TCP', 'ip', 'allow'), 'open'], [tryOf('TCP', 'ip6', 'deny'), 'open']);

test('renderBoard() shouts where a packet did not do what policy says', () => {
  expect(renderBoard(wrong, new Set(), colors).at(-1)).toContain(
    colors.bgRed(colors.white(colors.bold('T'))),
  );
  expect(renderBoard(right, new Set(), colors).join('')).not.toContain('\x1b[41m');
});

test('wrongText() says who did what against which reason', () => {
  expect(wrongOnes(right)).toEqual([]);
  expect(wrongOnes(wrong).map(wrongText)).toEqual([
    'shop/web -> shop/db:5432/TCP over IPv6: policy says deny (because deny), and the packet passed',
  ]);
  const missing = outcomesOf([tryOf('ICMP', 'ip', 'allow'), 'closed']);
  expect(wrongOnes(missing).map(wrongText)).toEqual([
    'shop/web -> shop/db/ICMP over IPv4: policy says allow (because allow), and no answer came',
  ]);
});

test('changedTries() are those whose packets do something else than before', () => {
  const after = outcomesOf([tryOf('TCP', 'ip', 'deny'), 'closed'], [tryOf('TCP', 'ip6', 'allow'), 'open']);
  expect(changedTries(wrong, after)).toEqual([after.board.tries[0]]);
  expect(changeTexts(changedTries(wrong, after))).toEqual(['shop/web -> shop/db']);
});
