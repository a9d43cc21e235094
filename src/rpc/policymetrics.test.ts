import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { addPolicies, policiesIn } from './policymetrics.ts';

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

test('there are no more series than somebody can look at, whoever writes policies', async () => {
  const registry = new Registry();
  const rules = Array.from({ length: 10_000 }, (_, i) => ({
    direction: 'ingress' as const,
    action: 'accept' as const,
    source: `evil/p-${i} ingress[0]`,
    packets: 1,
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
