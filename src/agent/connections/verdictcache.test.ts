import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import { VerdictCache } from './connectionchecker.ts';

/** Far more than there are places. */
const FLOWS = Array.from(
  { length: 20_000 },
  (_, i): Flow => ({
    from: `10.1.0.${i % 7}` as Address,
    to: `10.2.${(i >> 8) & 3}.${i & 255}` as Address,
    protocol: (['TCP', 'UDP', 'ICMP', 47] as const)[i % 4]!,
    ...(i % 4 < 2 && { port: i % 3000 }),
  }),
);
const isDenied = (i: number) => i % 3 === 0;

test('a verdict is that of the very flow, or not known; the last one is known', () => {
  const verdicts = new VerdictCache();
  let known = 0;
  for (const [i, flow] of FLOWS.entries()) {
    verdicts.set(flow, isDenied(i));
    expect(verdicts.denies({ ...flow })).toBe(isDenied(i));
  }
  const last = new Map(FLOWS.map((flow, i) => [JSON.stringify(flow), i]));
  for (const flow of FLOWS) {
    const denied = verdicts.denies(flow);
    if (denied === undefined) continue;
    known++;
    expect(denied).toBe(isDenied(last.get(JSON.stringify(flow))!));
  }
  expect(known).toBeGreaterThan(1_000);
});
