import { describe, expect, test } from 'vitest';
import {
  COMMIT_LIMITS,
  decide,
  type Priority,
  type RoundDecision,
  type Situation,
  type WaitingChange,
} from './scheduler.ts';

const IDLE: Situation = { nowMs: 1000, waiting: [], lookAtMs: 2000, level: 5, limits: COMMIT_LIMITS };

const since = (sinceMs: number, priority: Priority = 'normal', atMs = sinceMs): WaitingChange => ({
  atMs,
  sinceMs,
  priority,
});

const start = (cause: 'start' | 'change' | 'look'): RoundDecision => ({ kind: 'start', cause });
const wait = (ms: number): RoundDecision => ({ kind: 'wait', ms });

describe('decide()', () => {
  test.each<[string, Partial<Situation>, RoundDecision]>([
    ['waits for the next look where nothing is pending', {}, wait(1000)],
    ['looks when it is time', { lookAtMs: 1000 }, start('look')],
    ['looks at once where a dump was asked for', { lookAtMs: Number.NEGATIVE_INFINITY }, start('look')],
    ['takes a change at once', { waiting: [since(1000)] }, start('change')],
    ['takes a change before a look that is due', { waiting: [since(1000)], lookAtMs: 1000 }, start('change')],
    ['lets a change wait where the budget is spent', { waiting: [since(1000)], level: 0 }, wait(100)],
    ['lets it wait for the rest of its time', { waiting: [since(970)], level: 0 }, wait(70)],
    [
      'takes an urgent change beyond the budget',
      { waiting: [since(1000, 'urgent')], level: -4 },
      start('change'),
    ],
    ['holds the reserve against what is urgent', { waiting: [since(1000, 'urgent')], level: -5 }, wait(100)],
    [
      'takes what tightens where urgent changes have used their reserve up',
      { waiting: [since(1000, 'urgent'), since(1000, 'tightening')], level: -5 },
      start('change'),
    ],
    [
      'counts the time of a change from when it came, whatever comes later',
      { waiting: [since(1000), since(940)], level: 0 },
      wait(40),
    ],
    ['waits for the turn of what has none yet', { waiting: [since(1300, 'normal', 1300)] }, wait(300)],
    ['lets a look wait for the budget too', { lookAtMs: 1000, level: 0 }, wait(100)],
    [
      'retries when it is time, whatever is pending',
      { retry: { cause: 'start', atMs: 1000 }, level: -5 },
      start('start'),
    ],
    [
      'retries no sooner, whatever is urgent',
      { retry: { cause: 'change', atMs: 1400 }, waiting: [since(900, 'urgent')] },
      wait(400),
    ],
  ])('%s', (_, situation, decision) => {
    expect(decide({ ...IDLE, ...situation })).toEqual(decision);
  });
});
