import { expect, test } from 'vitest';
import type { Address } from './address.ts';
import { FlowCounts } from './countedflows.ts';
import type { Flow } from './flow.ts';

const flow = (port: number, more: Partial<Flow> = {}): Flow => ({
  from: '10.0.0.1' as Address,
  to: '10.0.0.2' as Address,
  protocol: 'TCP',
  port,
  ...more,
});

test('connections that policy cannot tell apart are one flow, in the order in which they came first', () => {
  const counts = new FlowCounts();
  const through = { viaService: true };
  for (const each of [
    flow(80),
    flow(443),
    flow(80),
    flow(80, through),
    flow(80, { protocol: 'UDP' }),
    flow(80),
  ])
    counts.add(each);
  expect(counts.counted()).toEqual([
    { flow: flow(80), count: 3 },
    { flow: flow(443), count: 1 },
    { flow: flow(80, through), count: 1 },
    { flow: flow(80, { protocol: 'UDP' }), count: 1 },
  ]);
});
