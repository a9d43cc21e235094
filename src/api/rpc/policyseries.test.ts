import { expect, test } from 'vitest';
import { PolicySeries, policiesIn } from './policyseries.ts';
import type { CountedTotal } from './view.ts';

test.each([
  ['shop/web ingress[0]', ['shop/web']],
  ['shop/web ingress[0], shop/api ingress[1]', ['shop/web', 'shop/api']],
  ['shop/web ingress[0], shop/web ingress[1] and 7 more', ['shop/web', 'others']],
  ['isolated by shop/web, shop/deny and 2 more', ['shop/web', 'shop/deny', 'others']],
  ['cnp:guard egress[3] allow dns', ['cnp:guard']],
  ['', []],
  ['a rule is too long for the kernel', []],
  [`isolated by shop/web, ${'x'.repeat(94)}/y`.padEnd(120, 'z'), ['shop/web', 'others']],
])('policiesIn() names the policies of %j', (source, policies) => {
  expect(policiesIn(source)).toEqual(policies);
});

const total = (policy: string, packets: number, isInForce = true): CountedTotal => ({
  direction: 'ingress',
  action: 'accept',
  source: `${policy} ingress[0]`,
  packets,
  isInForce,
});
const texts = (series: PolicySeries, ...totals: CountedTotal[]) =>
  series.samples(totals).map(({ policy, packets }) => `${policy} ${packets}`);

test('policies that are gone give their series back to those that are in force, and fall into no other', () => {
  const series = new PolicySeries(2);
  expect(texts(series, total('evil/a', 5), total('evil/b', 6))).toEqual(['evil/a 5', 'evil/b 6']);
  const gone = [total('evil/a', 5, false), total('evil/b', 6, false)];
  expect(texts(series, ...gone)).toEqual(['evil/a 5', 'evil/b 6']);
  expect(texts(series, ...gone, total('shop/web', 7))).toEqual(['evil/b 6', 'shop/web 7']);
  expect(texts(series, ...gone, total('shop/web', 8), total('shop/db', 1))).toEqual([
    'shop/web 8',
    'shop/db 1',
  ]);
});

test('who has a series keeps it while it is in force, and what others match never falls', () => {
  const series = new PolicySeries(1);
  texts(series, total('shop/a', 1), total('shop/b', 10));
  expect(texts(series, total('shop/b', 15), total('shop/a', 2))).toEqual(['shop/a 2', 'others 15']);
  // Its own series begins with all that it matched; the one of others stays where it was.
  expect(texts(series, total('shop/b', 16), total('shop/a', 2, false))).toEqual(['shop/b 16', 'others 15']);
  // A policy that was made anew counts from zero.
  expect(texts(series, total('shop/b', 16), total('shop/a', 1))).toEqual(['shop/b 16', 'others 16']);
});

test('ten thousand policies made and deleted leave room for the next', () => {
  const series = new PolicySeries(10);
  const gone: CountedTotal[] = [];
  for (let i = 0; i < 1000; i++) {
    texts(series, ...gone, ...Array.from({ length: 10 }, (_, n) => total(`evil/${i}-${n}`, 1)));
    gone.push(...Array.from({ length: 10 }, (_, n) => total(`evil/${i}-${n}`, 1, false)));
    if (gone.length > 50) gone.splice(0, 10);
  }
  expect(texts(series, ...gone, total('shop/web', 3))).toContain('shop/web 3');
});

const namesOf = (series: PolicySeries, ...totals: CountedTotal[]) =>
  series.samples(totals).flatMap(({ policy }) => (policy === 'others' ? [] : [policy]));
const crowd = (namespace: string, count: number) =>
  Array.from({ length: count }, (_, n) => total(`${namespace}/p${String(n).padStart(3, '0')}`, 1));

test('a tenant with many living policies loses its own series to others, and nobody else does', () => {
  const series = new PolicySeries(10);
  expect(namesOf(series, ...crowd('evil', 500))).toHaveLength(10);
  expect([...series.leftOut]).toEqual([['evil', 490]]);
  const others = [...crowd('shop', 3), ...crowd('db', 2), total('cnp:guard', 1)];
  const names = namesOf(series, ...crowd('evil', 500), ...others);
  expect(names).toEqual(expect.arrayContaining(others.map(({ source }) => source.split(' ')[0])));
  expect(names.filter(name => name.startsWith('evil/'))).toEqual([
    'evil/p000',
    'evil/p001',
    'evil/p002',
    'evil/p003',
  ]);
  expect([...series.leftOut]).toEqual([['evil', 496]]);
});

test('two tenants with many policies have as many series, and after a restart the same', () => {
  const totals = [...crowd('evil', 500), ...crowd('wicked', 40), ...crowd('shop', 1)];
  const names = namesOf(new PolicySeries(10), ...totals).sort();
  const of = (namespace: string) => names.filter(name => name.startsWith(`${namespace}/`)).length;
  expect([of('evil'), of('wicked'), of('shop')]).toEqual([5, 4, 1]);
  expect(namesOf(new PolicySeries(10), ...totals.toReversed()).sort()).toEqual(names);
});

test('who has a series keeps it beside later policies of its namespace; a namespace without any has one of who has most', () => {
  const series = new PolicySeries(4);
  const before = [total('b/x', 1), total('b/y', 1), total('c/x', 1), total('d/x', 1)];
  expect(namesOf(series, ...before)).toEqual(['b/x', 'b/y', 'c/x', 'd/x']);
  expect(namesOf(series, ...before, total('c/a', 1), total('b/a', 1))).toEqual(['b/x', 'b/y', 'c/x', 'd/x']);
  const more = [total('a/x', 1), total('a/y', 1), total('e/x', 1)];
  expect(namesOf(series, ...before, ...more).sort()).toEqual(['a/x', 'b/x', 'c/x', 'd/x']);
  expect([...series.leftOut].sort()).toEqual([
    ['a', 1],
    ['b', 1],
    ['e', 1],
  ]);
});
