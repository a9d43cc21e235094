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
