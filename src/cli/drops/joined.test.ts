import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { HANG } from '../../terminal/hang.ts';
import { Joined, joinedText, type Said } from './joined.ts';

const said = (more: Partial<Said> = {}): Said => ({
  key: 'a b 80',
  atMs: 1_000,
  sourcePort: 4000,
  connections: ['a -> b:80/TCP'],
  hasService: false,
  allowed: [],
  times: 1,
  ...more,
});

/** The lines without their time. */
function linesOf(...all: readonly Said[]): string[] {
  const joined = new Joined();
  for (const each of all) joined.add(each, 0);
  return joined.due(0).map(line => stripVTControlCharacters(joinedText(line)).replace(HANG, '').slice(10));
}

test('both nodes of a connection are one line, with the Service that the node of the source knows', () => {
  const egress = said({
    node: 'n1',
    allowed: ['egress'],
    hasService: true,
    connections: ['a -> b:80/TCP through s'],
  });
  const ingress = said({ node: 'n2', allowed: ['ingress'], atMs: 1_020 });
  const line = 'n1, n2  a -> b:80/TCP through s  allowed egress, ingress';
  expect(linesOf(egress, ingress)).toEqual([line]);
  expect(linesOf(ingress, egress)).toEqual([line]);
});

test('a connection that one node allows and the other denies is one line that says both', () => {
  expect(
    linesOf(
      said({ node: 'n2', denied: 'denied ingress: isolated by b', times: 3 }),
      said({ node: 'n1', allowed: ['egress'] }),
    ),
  ).toEqual(['n1, n2  a -> b:80/TCP  allowed egress, denied ingress: isolated by b (3 times)']);
});

test('look-ups of A and AAAA, whose lines would be the same, are one line', () => {
  const denied = 'egress: isolated by a';
  expect(linesOf(said({ denied }), said({ denied, sourcePort: 4001 }))).toEqual([
    'a -> b:80/TCP  egress: isolated by a (2 times)',
  ]);
  const both = [4000, 4001].flatMap(sourcePort =>
    ['n1', 'n2'].map((node, i) => said({ sourcePort, node, allowed: [['egress', 'ingress'][i]!] })),
  );
  expect(linesOf(...both)).toEqual(['n1, n2  a -> b:80/TCP  allowed egress, ingress (2 times)']);
});

test.each([
  ['what is decided otherwise', { sourcePort: 4001, denied: 'egress: by x' }],
  [
    'what goes through another Service',
    { sourcePort: 4001, connections: ['a -> b:80/TCP through t'], hasService: true },
  ],
  ['what comes more than a second later', { sourcePort: 4001, atMs: 2_001 }],
  ['what goes elsewhere', { key: 'a c 80', connections: ['a -> c:80/TCP'] }],
])('%s is a line of its own', (_, more) => {
  const one = said({ denied: 'egress: by y' });
  expect(linesOf(one, { ...one, ...more })).toHaveLength(2);
});

test('a line waits for what belongs to it, in the order in which lines began, and no more than so many wait', () => {
  const joined = new Joined();
  joined.add(said(), 10);
  joined.add(said({ key: 'other' }), 20);
  joined.add(said({ sourcePort: 4001 }), 25);
  expect(joined.due(9)).toEqual([]);
  expect(joined.due(10).map(({ times }) => times)).toEqual([2]);
  expect(joined.isEmpty).toBe(false);
  expect(joined.due(20).map(line => line.said[0]!.key)).toEqual(['other']);
  expect(joined.isEmpty).toBe(true);
  for (let n = 0; n < 10_001; n++) joined.add(said({ key: String(n) }), 1_000);
  expect(joined.due(0)).toHaveLength(10_001);
});
