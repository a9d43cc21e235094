import { expect, test } from 'vitest';
import { TokenBucket } from '../lib/fairness/rates.ts';
import { COMMIT_LIMITS, waitMs } from './scheduler.ts';

/** How many commits are made in a period in which a commit is always wanted; every `urgentOf`-th is urgent. */
function commitsIn(ms: number, isUrgent: (n: number) => boolean): number {
  const bucket = new TokenBucket(COMMIT_LIMITS);
  let commits = 0;
  for (let nowMs = 0; nowMs <= ms; commits++) {
    const wait = waitMs(bucket.level(nowMs), isUrgent(commits) ? 'urgent' : 'normal', 0, COMMIT_LIMITS);
    nowMs += wait;
    bucket.take(nowMs);
  }
  return commits;
}

test.each([
  ['nothing is urgent', () => false, 0],
  ['all is urgent', () => true, COMMIT_LIMITS.reserve.urgent],
  ['each third is urgent', (n: number) => n % 3 === 0, COMMIT_LIMITS.reserve.urgent],
] as const)('the budget is ten commits a second and a burst, where %s', (_, isUrgent, reserve) => {
  const commits = commitsIn(10_000, isUrgent);
  expect(commits).toBeGreaterThanOrEqual(100);
  expect(commits).toBeLessThanOrEqual(100 + COMMIT_LIMITS.burst + reserve + 1);
});

test('TokenBucket serves a burst of five at once, and never saves up more', () => {
  const bucket = new TokenBucket(COMMIT_LIMITS);
  const waits = Array.from({ length: 6 }, () => {
    const wait = waitMs(bucket.level(3_600_000), 'normal', 0, COMMIT_LIMITS);
    bucket.take(3_600_000);
    return wait;
  });
  expect(waits).toEqual([0, 0, 0, 0, 0, 100]);
});

test('a hundred urgent commits leave no debt: what comes next waits for a tenth of a second', () => {
  const bucket = new TokenBucket(COMMIT_LIMITS);
  let nowMs = 0;
  for (let n = 0; n < 110; n++) {
    nowMs += waitMs(bucket.level(nowMs), 'urgent', 0, COMMIT_LIMITS);
    bucket.take(nowMs);
  }
  expect(waitMs(bucket.level(nowMs), 'normal', 0, COMMIT_LIMITS)).toBeLessThanOrEqual(
    COMMIT_LIMITS.mostWaitMs,
  );
});

test('what has waited for its time goes like what is urgent, and never before the reserve allows it', () => {
  expect(waitMs(0, 'normal', 100, COMMIT_LIMITS)).toBe(0);
  expect(waitMs(0, 'normal', 40, COMMIT_LIMITS)).toBe(60);
  expect(waitMs(-4.5, 'normal', 1000, COMMIT_LIMITS)).toBe(50);
  expect(waitMs(-4.5, 'urgent', 0, COMMIT_LIMITS)).toBe(50);
});

test('what tightens goes at once after any number of urgent commits, and leaves a debt of a second at most', () => {
  const bucket = new TokenBucket(COMMIT_LIMITS);
  for (let nowMs = 0, n = 0; n < 110; n++) {
    nowMs += waitMs(bucket.level(nowMs), 'urgent', 0, COMMIT_LIMITS);
    bucket.take(nowMs);
    expect(waitMs(bucket.level(nowMs), 'tightening', 0, COMMIT_LIMITS)).toBe(0);
  }
  expect(waitMs(-9, 'tightening', 0, COMMIT_LIMITS)).toBe(0);
  expect(waitMs(-9.5, 'tightening', 0, COMMIT_LIMITS)).toBe(50);
});
