import { expect, test } from 'vitest';
import { COMMIT_LIMITS, TokenBucket } from './bucket.ts';

test('TokenBucket serves a burst of five at once', () => {
  const bucket = new TokenBucket(COMMIT_LIMITS, 0);
  expect(Array.from({ length: 6 }, () => bucket.take(0))).toEqual([0, 0, 0, 0, 0, 100]);
});

test('TokenBucket holds ten a second when pressed without end', () => {
  const bucket = new TokenBucket(COMMIT_LIMITS, 0);
  let nowMs = 0;
  let commits = 0;
  while (nowMs < 10_000) {
    nowMs += bucket.take(nowMs);
    commits++;
  }
  expect(commits).toBeGreaterThanOrEqual(104);
  expect(commits).toBeLessThanOrEqual(106);
});

test('TokenBucket never saves up more than one burst', () => {
  const bucket = new TokenBucket(COMMIT_LIMITS, 0);
  expect(Array.from({ length: 6 }, () => bucket.take(3_600_000)).filter(wait => wait === 0)).toHaveLength(5);
});
