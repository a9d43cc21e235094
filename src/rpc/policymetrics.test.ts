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
