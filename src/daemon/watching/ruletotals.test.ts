import { expect, test } from 'vitest';
import { commentOf, hashedName } from '../../compiler/names.ts';
import type { RuleCount } from '../../nft/rulecount.ts';
import { RuleTotals } from './rulecounts.ts';

const count = (handle: number, packets: number, more: Partial<RuleCount> = {}): RuleCount => ({
  family: 'ip',
  chain: hashedName('from', 'x'),
  handle,
  comment: 'shop/web ingress[0]',
  verdict: { kind: 'accept' },
  packets,
  ...more,
});
const sums = (totals: RuleTotals) =>
  [...totals.values()].map(
    ({ direction, action, source, packets }) => `${direction} ${action} ${source}: ${packets}`,
  );

test('totals go on when a chain is made anew, whose counts were read before it went', () => {
  const totals = new RuleTotals();
  totals.takeAll([count(1, 10)]);
  totals.take([count(1, 15)]);
  totals.takeAll([count(7, 2)]);
  totals.takeAll([count(7, 2)]);
  totals.takeAll([count(7, 5)]);
  expect(sums(totals)).toEqual(['ingress accept shop/web ingress[0]: 20']);
});

test('the same rule of a policy is one total: of both families, of every port and class', () => {
  const totals = new RuleTotals();
  totals.takeAll([
    count(1, 1),
    count(1, 2, { family: 'ip6' }),
    count(2, 4, { chain: hashedName('count', 'y') }),
  ]);
  expect(sums(totals)).toEqual(['ingress accept shop/web ingress[0]: 7']);
});

test('what a rule does, and of which direction it is, is told by its verdict and its chain', () => {
  const totals = new RuleTotals();
  const eg = hashedName('eg', 'x', 'shop/web');
  totals.takeAll([
    count(1, 1, { chain: eg, verdict: { kind: 'goto', chain: 'ingress' } }),
    count(2, 2, { chain: eg, verdict: { kind: 'goto', chain: 'denied' }, comment: 'isolated by shop/web' }),
    count(3, 3, {
      chain: eg,
      verdict: { kind: 'goto', chain: `${eg}-networkpolicy` },
      comment: 'cnp:a egress[1]',
    }),
    count(4, 4, {
      chain: hashedName('count', 'x'),
      verdict: { kind: 'goto', chain: 'denied' },
      comment: 'cnp:a ingress[2]',
    }),
    count(5, 9, { chain: 'denied' }),
  ]);
  expect(sums(totals)).toEqual([
    'egress accept shop/web ingress[0]: 1',
    'egress drop isolated by shop/web: 2',
    'egress pass cnp:a egress[1]: 3',
    'ingress drop cnp:a ingress[2]: 4',
  ]);
});

test.each(['ingress', 'egress'] as const)(
  '%s of a policy with the longest name is told as such',
  direction => {
    const totals = new RuleTotals();
    const comment = commentOf([`${'n'.repeat(63)}/${'p'.repeat(253)} ${direction}[0]`]);
    const verdict = { kind: 'goto', chain: 'denied' } as const;
    totals.takeAll([count(1, 1, { chain: hashedName('count', 'x'), verdict, comment })]);
    expect([...totals.values()].map(total => total.direction)).toEqual([direction]);
  },
);

test('a table that was made anew counts from zero, and its handles begin anew', () => {
  const totals = new RuleTotals();
  totals.takeAll([count(1, 10)]);
  totals.takeAll([count(1, 3)]);
  expect(sums(totals)).toEqual(['ingress accept shop/web ingress[0]: 13']);
});

test('rules that are gone are forgotten where there are very many', () => {
  const totals = new RuleTotals(10);
  for (let i = 0; i < 1_000; i++) totals.takeAll([count(i, 1, { comment: `shop/p-${i} ingress[0]` })]);
  expect([...totals.values()].length).toBeLessThanOrEqual(10);
  expect(sums(totals).at(-1)).toBe('ingress accept shop/p-999 ingress[0]: 1');
});

test('a namespace whose rules come and go by the thousand takes no total of another, nor has it begin anew', () => {
  const totals = new RuleTotals(10);
  const quiet = count(1, 7, { comment: 'shop/quiet ingress[0]' });
  totals.takeAll([quiet]);
  for (let i = 2; i < 1_000; i++)
    totals.takeAll([count(i, 1, { comment: `${i % 2 ? 'isolated by ' : ''}busy/p-${i} ingress[0]` })]);
  expect([...totals.values()].length).toBe(10);
  totals.takeAll([count(1_000, 3, { comment: quiet.comment })]);
  expect(sums(totals)).toContain('ingress accept shop/quiet ingress[0]: 10');
});

test('of several namespaces those that have most forget, and none more than it must', () => {
  const totals = new RuleTotals(6);
  const of = (namespace: string, first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, i) =>
      count(first + i, 1, { comment: `${namespace}/p-${first + i} ingress[0]` }),
    );
  totals.takeAll([...of('a', 1, 5), ...of('b', 11, 14), ...of('c', 21, 21)]);
  totals.takeAll([]);
  const left = sums(totals).map(text => /(\w)\/p/.exec(text)![1]);
  expect(left.join('')).toMatch(/^(a{2}b{3}|a{3}b{2})c$/);
});
