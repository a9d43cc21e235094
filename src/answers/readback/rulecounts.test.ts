import { expect, test } from 'vitest';
import { hashedName } from '../../compiler/names.ts';
import type { RuleCount } from '../../nft/rulecount.ts';
import { type Inspection, withCounts } from './inspect.ts';

const RULES = [
  { verdict: 'accept', ports: 'tcp 80', source: 'shop/web ingress[0]' },
  { verdict: 'accept', ports: 'tcp 81', source: 'shop/web ingress[1]' },
  { verdict: 'drop', source: 'isolated by shop/web' },
  { verdict: 'accept' },
] as const;
const INSPECTION: Inspection = {
  installed: true,
  pods: [{ pod: 'shop/web', addresses: ['10.0.0.1'], ingress: { chain: 'in-x', rules: RULES } }],
  unknownPods: 'allow',
  totals: { chains: 1, sets: 0, elements: 0 },
};
const count = (comment: string, packets: number, more: Partial<RuleCount> = {}): RuleCount => ({
  family: 'ip',
  chain: hashedName('from', 'x'),
  handle: 1,
  comment,
  verdict: { kind: 'accept' },
  packets,
  ...more,
});

test('a rule was matched last when the latest of its packets came, and not at all where none did', () => {
  const counts = [
    count('shop/web ingress[0]', 5, { lastMsAgo: 90_000 }),
    count('shop/web ingress[0]', 7, { family: 'ip6', lastMsAgo: 3_000 }),
    count('shop/web ingress[0]', 0, { handle: 2 }),
    count('shop/web ingress[1]', 0),
  ];
  const [first, second] = withCounts(INSPECTION, counts).pods[0]!.ingress!.rules;
  expect(first).toMatchObject({ matched: 12, lastMatchedMsAgo: 3_000 });
  expect(second).toMatchObject({ matched: 0 });
  expect(second).not.toHaveProperty('lastMatchedMsAgo');
});

test('each rule of an inspection has what it has matched, in both families and on every port together', () => {
  const counts = [
    count('shop/web ingress[0]', 5),
    count('shop/web ingress[0]', 7, { family: 'ip6' }),
    count('shop/web ingress[1]', 0),
    count('isolated by shop/web', 3, {
      verdict: { kind: 'goto', chain: 'denied' },
      chain: hashedName('in', 'x'),
    }),
    count('isolated by shop/web', 9, {
      verdict: { kind: 'goto', chain: 'denied' },
      chain: hashedName('eg', 'x'),
    }),
    count('shop/web ingress[0]', 9, { chain: 'forward' }),
  ];
  const [pod] = withCounts(INSPECTION, counts).pods;
  expect(pod!.ingress!.rules.map(({ matched }) => matched)).toEqual([12, 0, 3, undefined]);
  expect(pod!.egress).toBeUndefined();
});
