import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Family } from '../../model/address.ts';
import { newReadings, podInspection, type RuleInspection } from './inspect.ts';

const rule = fc.record({
  verdict: fc.constantFrom('accept' as const, 'drop' as const),
  peers: fc.constantFrom('a', 'b', 'c'),
});
const last = fc.constantFrom<RuleInspection>({ verdict: 'accept' }, { verdict: 'drop' });
const chain = fc.tuple(fc.array(rule, { maxLength: 6 }), last).map(([rules, end]) => [...rules, end]);

function rulesOf(read: Partial<Record<Family, readonly RuleInspection[]>>): readonly RuleInspection[] {
  const readings = newReadings();
  for (const [family, rules] of Object.entries(read) as [Family, readonly RuleInspection[]][]) {
    readings.addresses[family].add(family === 'ip' ? '10.0.0.1' : 'fd00::1');
    readings.ingress[family] = { chain: 'in-X', rules };
  }
  return podInspection(['shop/web', readings]).ingress!.rules;
}

test('what is said of a family is what it has, in its order, whatever the other one has', () => {
  fc.assert(
    fc.property(chain, chain, (ip, ip6) => {
      const rules = rulesOf({ ip, ip6 });
      const of = (family: Family) =>
        rules.filter(each => (each.family ?? family) === family).map(({ family: _, ...each }) => each);
      expect(of('ip')).toEqual(ip);
      expect(of('ip6')).toEqual(ip6);
    }),
  );
});

test('two families that end otherwise do not contradict one another', () => {
  const peers = 'pods app=api';
  const open = { verdict: 'accept' } as const;
  const closed = { verdict: 'drop', source: 'isolated by shop/db' } as const;
  expect(
    rulesOf({ ip: [{ verdict: 'accept', peers }, closed], ip6: [{ verdict: 'accept', peers }, open] }),
  ).toEqual([
    { verdict: 'accept', peers },
    { ...closed, family: 'ip' },
    { ...open, family: 'ip6' },
  ]);
});

test('a pod of one family has its rules without a family', () => {
  expect(rulesOf({ ip6: [{ verdict: 'drop' }] })).toEqual([{ verdict: 'drop' }]);
});

test('a family without a chain for the direction is open, and said to be', () => {
  const readings = newReadings();
  readings.addresses.ip.add('10.0.0.1');
  readings.addresses.ip6.add('fd00::1');
  readings.ingress.ip = { chain: 'in-X', rules: [{ verdict: 'drop' }] };
  expect(podInspection(['shop/web', readings]).ingress!.rules).toEqual([
    { verdict: 'drop', family: 'ip' },
    { verdict: 'accept', family: 'ip6' },
  ]);
});
