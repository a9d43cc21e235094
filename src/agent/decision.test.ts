import { describe, expect, test } from 'vitest';
import { COMMIT_LIMITS } from './bucket.ts';
import { type Decision, decide, type Situation } from './decision.ts';

const IDLE: Situation = { nowMs: 1000, urgent: false, lookAtMs: 2000, level: 5, limits: COMMIT_LIMITS };

const start = (cause: 'start' | 'change' | 'look'): Decision => ({ kind: 'start', cause });
const wait = (ms: number): Decision => ({ kind: 'wait', ms });

describe('decide()', () => {
  test.each<[string, Partial<Situation>, Decision]>([
    ['waits for the next look where nothing is pending', {}, wait(1000)],
    ['looks when it is time', { lookAtMs: 1000 }, start('look')],
    ['looks at once where a dump was asked for', { lookAtMs: Number.NEGATIVE_INFINITY }, start('look')],
    ['takes a change at once', { pendingSinceMs: 1000 }, start('change')],
    ['takes a change before a look that is due', { pendingSinceMs: 1000, lookAtMs: 1000 }, start('change')],
    ['lets a change wait where the budget is spent', { pendingSinceMs: 1000, level: 0 }, wait(100)],
    ['lets it wait for the rest of its time', { pendingSinceMs: 970, level: 0 }, wait(70)],
    [
      'takes an urgent change beyond the budget',
      { pendingSinceMs: 1000, urgent: true, level: -4 },
      start('change'),
    ],
    [
      'holds the reserve against what is urgent',
      { pendingSinceMs: 1000, urgent: true, level: -5 },
      wait(100),
    ],
    ['lets a look wait for the budget too', { lookAtMs: 1000, level: 0 }, wait(100)],
    [
      'retries when it is time, whatever is pending',
      { retry: { cause: 'start', atMs: 1000 }, level: -5 },
      start('start'),
    ],
    [
      'retries no sooner, whatever is urgent',
      { retry: { cause: 'change', atMs: 1400 }, pendingSinceMs: 900, urgent: true },
      wait(400),
    ],
  ])('%s', (_, situation, decision) => {
    expect(decide({ ...IDLE, ...situation })).toEqual(decision);
  });
});
