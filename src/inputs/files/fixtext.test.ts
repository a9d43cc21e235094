import { expect, test } from 'vitest';
import type { Fix } from '../../model/problem.ts';
import { fixText } from './fixtext.ts';

const POLICY = 'NetworkPolicy shop/web';
const HEAD = 'kind: NetworkPolicy\nmetadata:\n  name: web # mine\n  namespace: shop\n';
/** The text with one fix; undefined where it is not made. */
function fixedText(text: string, object: string, fix: Fix, namespace?: string): string | undefined {
  const { text: mended, made } = fixText(text, [{ object, fix }], namespace);
  return made.length === 1 ? mended : undefined;
}
const fixed = (spec: string, fix: Fix) => fixedText(`${HEAD}spec:\n${spec}`, POLICY, fix);

const SET: Fix = { field: 'spec.ingress[0].ports[1].port', set: 8080 };
const APPEND: Fix = { field: 'spec.egress', append: { to: [{ podSelector: {} }], ports: [{ port: 53 }] } };
const RULE = ['- to:', '    - podSelector: {}', '  ports:', '    - port: 53'];
const indented = (by: string) => RULE.map(line => by + line).join('\n');

test('a field is replaced, and comments and the form of the rest stay', () => {
  const spec = '  ingress:   # from all\n  - ports: [ {port: 81},{port: 80} ] # http\n';
  expect(fixed(spec, SET)).toBe(`${HEAD}spec:\n${spec.replace('80', '8080')}`);
});

test('a map is written in one line', () => {
  const set = { matchLabels: { a: 'b' } };
  const found = fixed('  egress: [{ to: [{ namespaceSelector: {} }] }]\n', {
    field: 'spec.egress[0].to[0].namespaceSelector',
    set,
  });
  expect(found).toBe(
    `${HEAD}spec:\n  egress: [{ to: [{ namespaceSelector: { matchLabels: { a: b } } }] }]\n`,
  );
});

test.each([
  ['', '  egress:\n', '  - ports: []\n', '  '],
  ['indented', '  egress:\n', '    - ports: []\n', '    '],
  ['with a comment behind', '  egress:\n', '  - ports: [] # all\n', '  '],
  ['with more behind', '  egress:\n', '  - ports:\n    - port: 1\n', '  '],
])('a list is continued as it is written: %s', (_, before, item, indent) => {
  const more = '\n  # types\n  policyTypes: [Egress]\n';
  expect(fixed(before + item + more, APPEND)).toBe(
    `${HEAD}spec:\n${before}${item}${indented(indent)}\n${more}`,
  );
});

test('lines that end as on Windows go on ending so', () => {
  const windows = (text: string) => text.replaceAll('\n', '\r\n');
  const text = `${HEAD}spec:\n  egress:\n  - ports: []\n  policyTypes: [Egress]\n`;
  const mended = text.replace('  - ports: []\n', `  - ports: []\n${indented('  ')}\n`);
  expect(fixedText(windows(text), POLICY, APPEND)).toBe(windows(mended));
});

test('a list in one line is continued there', () => {
  const value = '{ to: [ { podSelector: {} } ], ports: [ { port: 53 } ] }';
  expect(fixed('  egress: [{}]\n', APPEND)).toBe(`${HEAD}spec:\n  egress: [{}, ${value}]\n`);
  expect(fixed('  egress: []\n', APPEND)).toBe(`${HEAD}spec:\n  egress: [${value}]\n`);
});

test('JSON stays JSON', () => {
  const json = JSON.stringify({
    kind: 'NetworkPolicy',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { egress: [{}] },
  });
  const found = JSON.parse(fixedText(json, POLICY, APPEND)!);
  expect(found.spec.egress).toEqual([{}, (APPEND as { append: unknown }).append]);
});

const named = (metadata: string) =>
  `kind: NetworkPolicy\nmetadata: { name: web${metadata} }\nspec: { ingress: [{ ports: [{}, { port: 80 }] }] }\n`;
const SHOP = named(', namespace: shop');

test('the object is found among others, by its name and its namespace', () => {
  const others = `kind: Service\nmetadata: { name: web }\n---\n${named('')}---\n${named(', namespace: other')}---\n# mine\n`;
  expect(fixedText(others + SHOP, POLICY, SET)).toBe(others + SHOP.replace('80', '8080'));
  expect(fixedText(others, POLICY, SET)).toBeUndefined();
});

test('an object that names no namespace is in the given one, or in default', () => {
  for (const metadata of ['', ', namespace: ""', ', namespace: null']) {
    const [text, mended] = [named(metadata), named(metadata).replace('80', '8080')];
    expect(fixedText(text, POLICY, SET, 'shop')).toBe(mended);
    expect(fixedText(text, 'NetworkPolicy default/web', SET)).toBe(mended);
    expect(fixedText(text, POLICY, SET)).toBeUndefined();
  }
});

test('nothing is written where two documents are the object', () => {
  expect(fixedText(`${SHOP}---\n${SHOP}`, POLICY, SET)).toBeUndefined();
  expect(fixedText(`${named('')}---\n${SHOP}`, POLICY, SET, 'shop')).toBeUndefined();
});

test.each([
  ['the field is not there', '  ingress: []\n'],
  ['it is an alias', '  x: &port 80\n  ingress: [{ ports: [{}, { port: *port }] }]\n'],
  ['it is anchored', '  ingress: [{ ports: [{}, { port: &port 80 }] }]\n  x: *port\n'],
  ['the file cannot be parsed', '  ingress: [{ ports: [{}, { port: 80 }]\n'],
])('nothing is written where %s', (_, spec) => expect(fixed(spec, SET)).toBeUndefined());

test('several edits of a file are made at once, in any order', () => {
  const [shop, other] = [SHOP, named(', namespace: other')];
  const edits = [
    { object: 'NetworkPolicy other/web', fix: { field: SET.field, set: 8081 } },
    { object: POLICY, fix: { field: 'spec.ingress', append: {} } },
    { object: 'NetworkPolicy shop/none', fix: SET },
    { object: POLICY, fix: SET },
  ];
  const { text, made } = fixText(`${shop}---\n${other}`, edits);
  expect(text).toBe(`${shop.replace('80 }] }]', '8080 }] }, {}]')}---\n${other.replace('80', '8081')}`);
  expect(made).toEqual([edits[3], edits[1], edits[0]]);
});

test('of edits at the same place, or of which one is around the other, one is made', () => {
  const around = { field: 'spec.ingress[0].ports', set: [] };
  const of = (...fixes: Fix[]) =>
    fixText(
      SHOP,
      fixes.map(fix => ({ object: POLICY, fix })),
    );
  expect(of(SET, SET).text).toBe(SHOP.replace('80', '8080'));
  expect(of(around, SET)).toEqual(of(SET));
  const empty = SHOP.replace('[{}, { port: 80 }]', '[]');
  const more = { object: POLICY, fix: { field: 'spec.ingress[0].ports', append: {} } };
  expect(fixText(empty, [more, more])).toEqual({ text: empty.replace('[]', '[{}]'), made: [more] });
});

test('documents whose aliases would take all memory, or that are nested too deeply, are no object', () => {
  const lists = Array.from('bcdefghi', (key, n) => `${key}: &${key} [${`*${'abcdefgh'[n]}, `.repeat(9)}]\n`);
  const bomb = `a: &a [1, 2]\n${lists.join('')}`;
  expect(fixedText(`${bomb}---\n${SHOP}`, POLICY, SET)).toBe(`${bomb}---\n${SHOP.replace('80', '8080')}`);
  // How deep is too deep depends on the stack.
  const deep = `a: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`;
  expect(() => fixText(`${deep}---\n${SHOP}`, [{ object: POLICY, fix: SET }])).not.toThrow();
});
