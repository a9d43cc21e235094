import { expect, test } from 'vitest';
import type { Inspection, RuleInspection } from '../answers/readback/inspect.ts';
import { inspectionLines } from './inspect.ts';

function lineOf(counted: Pick<RuleInspection, 'matched' | 'lastMatchedMsAgo'>): string {
  const rules: RuleInspection[] = [{ verdict: 'accept', source: 'shop/web ingress[0]', ...counted }];
  const inspection: Inspection = {
    installed: true,
    pods: [{ pod: 'shop/web', addresses: ['10.0.0.1'], ingress: { chain: 'in-x', rules } }],
    unknownPods: 'allow',
    totals: { chains: 1, sets: 0, elements: 0 },
  };
  return inspectionLines(inspection, { missing: 'a test' }).find(line => line.includes('ingress[0]'))!;
}

test.each([
  ['nothing where rules do not count', {}, 'shop/web ingress[0]'],
  ['that nothing ever met it', { matched: 0 }, 'never matched'],
  [
    'how often and when last',
    { matched: 12_031, lastMatchedMsAgo: 3_100 },
    'matched 12,031 times, last 3 s ago',
  ],
  ['when the only one came', { matched: 1, lastMatchedMsAgo: 180_000 }, 'matched once, 3 min ago'],
  ['how often alone, where the kernel does not remember when', { matched: 14 }, 'matched 14 times'],
])('a rule says %s', (_, counted, said) => {
  expect(lineOf(counted).endsWith(said)).toBe(true);
});

test('names say how long they hold as `sluice explain` does', () => {
  const addresses = [
    { address: '192.0.2.7', leftSeconds: 532 },
    { address: '192.0.2.8', leftSeconds: 532, byKernel: true as const },
  ];
  const names = [{ set: 'names-x', peers: 'domain logs.example', addresses, total: 1 }];
  const inspection: Inspection = {
    installed: true,
    pods: [{ pod: 'shop/web', addresses: ['10.0.0.1'], names }],
    unknownPods: 'allow',
    totals: { chains: 1, sets: 0, elements: 0 },
  };
  const lines = inspectionLines(inspection, { missing: 'a test' });
  expect(lines.find(line => line.includes('logs.example'))).toContain(
    '192.0.2.7 (8 min 52 s more), 192.0.2.8 (at most 8 min 52 s)',
  );
});
