import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { addPolicies } from './policymetrics.ts';

test('there are no more series than somebody can look at, whoever writes policies', async () => {
  const registry = new Registry();
  const rules = Array.from({ length: 10_000 }, (_, i) => ({
    direction: 'ingress' as const,
    action: 'accept' as const,
    source: `evil/p-${i} ingress[0]`,
    packets: 1,
    isInForce: true,
  }));
  addPolicies(registry, { read: async () => ({ values: () => rules, unreadChains: 0 }) });
  const lines = (await registry.metrics())
    .split('\n')
    .filter(line => line.startsWith('sluice_policy_packets'));
  expect(lines).toHaveLength(501);
  expect(lines).toContain(
    'sluice_policy_packets_total{policy="others",direction="ingress",action="accept"} 9500',
  );
});

test('a scrape says how many policies have no series, and of whom, in a few lines', async () => {
  const registry = new Registry();
  const sizes = Array.from({ length: 30 }, (_, n) => [`evil-${n}`, 30 + n] as const);
  const rules = [...sizes, ['shop', 3] as const, ['cnp:', 5] as const].flatMap(([namespace, size]) =>
    Array.from({ length: size }, (_, i) => ({
      direction: 'ingress' as const,
      action: 'accept' as const,
      source: `${namespace.endsWith(':') ? namespace : `${namespace}/`}p-${i} ingress[0]`,
      packets: 1,
      isInForce: true,
    })),
  );
  addPolicies(registry, { read: async () => ({ values: () => rules, unreadChains: 0 }) });
  const lines = (await registry.metrics()).split('\n');
  const left = lines.filter(line => line.startsWith('sluice_policies_without_series'));
  const total = left.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
  expect([left.length, total]).toEqual([11, rules.length - 500]);
  expect(left[0]).toMatch(/^sluice_policies_without_series\{namespace="evil-29"\} 4\d$/);
  expect(left.at(-1)).toContain('{namespace="*"}');
  const owned = lines.filter(line => /policy="(shop\/|cnp:)/.test(line));
  expect(owned).toHaveLength(8);
});
