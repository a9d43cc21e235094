import { expect, test } from 'vitest';
import { networkPolicy } from '../../bench/largepolicies.ts';
import { decodeObject } from '../inputs/kube/decode/decode.ts';
import type { Policy } from '../model/policy.ts';
import { sharesOf } from './shares.ts';

/** A policy of so many rules, with four entries each. */
function policy(name: string, rules: number, labels: object = {}): Policy {
  const rule = (i: number) => ({ from: [{ ipBlock: { cidr: `10.0.${i}.0/24` } }], ports: [{ port: 1 + i }] });
  const spec = {
    podSelector: { matchLabels: labels },
    ingress: Array.from({ length: rules }, (_, i) => rule(i)),
  };
  return decodeObject(networkPolicy('shop', name, spec)).event!.value as Policy;
}

const many = (count: number, rules: number, labels?: object) =>
  Array.from({ length: count }, (_, i) => policy(`p${i}`, rules, labels));

const names = (parts: readonly (readonly Policy[])[]) =>
  parts.map(part => part.map(({ name }) => name).join());

test('sharesOf() merges small policies, in their order', () => {
  const policies = many(20, 4);
  expect(sharesOf(policies, 'ingress', false)).toEqual({ merged: policies, parts: [] });
  expect(sharesOf(policies, 'egress', false)).toEqual({ merged: policies, parts: [] });
});

test('sharesOf() leaves a large policy by itself, and merges the small ones beside it', () => {
  const [large, small] = [policy('large', 100), policy('small', 3)];
  expect(sharesOf([large, small], 'ingress', false)).toEqual({ merged: [small], parts: [[large]] });
});

test('sharesOf() gives each policy one place', () => {
  const policies = many(500, 4);
  const { merged, parts } = sharesOf(policies, 'ingress', true);
  expect(new Set([...merged, ...parts.flat()])).toEqual(new Set(policies));
  expect(merged.length + parts.flat().length).toBe(policies.length);
});

test('sharesOf() makes few parts, each of a size that is soon compiled', () => {
  const { merged, parts } = sharesOf(many(2_000, 4), 'ingress', true); // 24,000 entries
  expect(merged).toEqual([]);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(86);
  expect(parts.length).toBeLessThan(48);
});

test('sharesOf() leaves all parts but one as they are where a policy comes, goes or grows', () => {
  const policies = many(600, 4);
  const before = new Set(names(sharesOf(policies, 'ingress', true).parts));
  for (let i = 0; i < 20; i++) {
    const after = names(sharesOf([...policies, policy(`another-${i}`, 4)], 'ingress', true).parts);
    expect(after.filter(name => !before.has(name)).length).toBeLessThanOrEqual(2); // one, or one cut in two
    const grown = policies.with(i, policy(`p${i}`, 5));
    expect(
      names(sharesOf(grown, 'ingress', true).parts).filter(name => !before.has(name)).length,
    ).toBeLessThan(3);
  }
});

test('sharesOf() has policies of one subject in parts that other subjects leave alone', () => {
  const everybody = many(400, 4);
  const [one, other] = ['a', 'b'].map(app => policy(`of-${app}`, 4, { app }));
  const [a, b] = [
    sharesOf([...everybody, one!], 'ingress', true),
    sharesOf([...everybody, other!], 'ingress', true),
  ];
  const [ofA, ofB] = [a, b].map(({ parts }) => names(parts));
  expect(ofA!.filter(part => !ofB!.includes(part))).toEqual(['shop/of-a']);
  expect(ofB!.filter(part => !ofA!.includes(part))).toEqual(['shop/of-b']);
});

test.each([5, 20, 50, 200])(
  'sharesOf() keeps what %i policies have in common out of parts with others',
  count => {
    const everybody = many(count, 4); // 12 entries each
    const [a, b] = ['a', 'b'].map(app =>
      sharesOf([...everybody, policy(`of-${app}`, 4, { app })], 'ingress', true),
    );
    const shared = new Set(names(a!.parts));
    const others = b!.parts.filter((_, i) => !shared.has(names(b!.parts)[i]!)).flat();
    expect(others.length).toBeLessThan(6); // 64 entries
  },
);
