import { expect, test } from 'vitest';
import type { Fix } from '../../model/problem.ts';
import { fixText } from './fixtext.ts';

const POLICY = 'NetworkPolicy shop/web';
const HEAD = 'kind: NetworkPolicy\nmetadata:\n  name: web # mine\n  namespace: shop\n';
const fixed = (spec: string, fix: Fix, object = POLICY) => fixText(`${HEAD}spec:\n${spec}`, object, fix);

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
  const found = JSON.parse(fixText(json, POLICY, APPEND)!);
  expect(found.spec.egress).toEqual([{}, (APPEND as { append: unknown }).append]);
});

const named = (metadata: string) =>
  `kind: NetworkPolicy\nmetadata: { name: web${metadata} }\nspec: { ingress: [{ ports: [{}, { port: 80 }] }] }\n`;
const SHOP = named(', namespace: shop');

test('the object is found among others, by its name and its namespace', () => {
  const others = `kind: Service\nmetadata: { name: web }\n---\n${named('')}---\n${named(', namespace: other')}---\n# mine\n`;
  expect(fixText(others + SHOP, POLICY, SET)).toBe(others + SHOP.replace('80', '8080'));
  expect(fixText(others, POLICY, SET)).toBeUndefined();
});

test('an object that names no namespace is in the given one, or in default', () => {
  for (const metadata of ['', ', namespace: ""', ', namespace: null']) {
    const [text, mended] = [named(metadata), named(metadata).replace('80', '8080')];
    expect(fixText(text, POLICY, SET, 'shop')).toBe(mended);
    expect(fixText(text, 'NetworkPolicy default/web', SET)).toBe(mended);
    expect(fixText(text, POLICY, SET)).toBeUndefined();
  }
});

test('nothing is written where two documents are the object', () => {
  expect(fixText(`${SHOP}---\n${SHOP}`, POLICY, SET)).toBeUndefined();
  expect(fixText(`${named('')}---\n${SHOP}`, POLICY, SET, 'shop')).toBeUndefined();
});

test.each([
  ['the field is not there', '  ingress: []\n'],
  ['it is an alias', '  x: &port 80\n  ingress: [{ ports: [{}, { port: *port }] }]\n'],
  ['it is anchored', '  ingress: [{ ports: [{}, { port: &port 80 }] }]\n  x: *port\n'],
  ['the file cannot be parsed', '  ingress: [{ ports: [{}, { port: 80 }]\n'],
])('nothing is written where %s', (_, spec) => expect(fixed(spec, SET)).toBeUndefined());
