import { expect, test } from 'vitest';
import { CommitBarrier } from './commitbarrier.ts';

/** Whether the promise has settled by now. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  return Promise.race([
    promise.then(() => true),
    new Promise<false>(resolve => setImmediate(resolve, false)),
  ]);
}

test('nothing is in force before the kernel was first found or made right', async () => {
  const arrivals = new CommitBarrier();
  const early = arrivals.inForce();
  expect(await isSettled(early)).toBe(false);
  arrivals.following();
  arrivals.followed();
  expect(await isSettled(early)).toBe(true);
  expect(await isSettled(arrivals.inForce())).toBe(true);
});

test('what was noted is in force with the first batch that begins after it and does not fail', async () => {
  const arrivals = new CommitBarrier();
  arrivals.following();
  arrivals.followed();
  arrivals.following();
  arrivals.noted(); // while a batch is under way that was made without it
  const waiting = arrivals.inForce();
  arrivals.followed();
  expect(await isSettled(waiting)).toBe(false);
  arrivals.following();
  arrivals.failed();
  expect(await isSettled(waiting)).toBe(false);
  arrivals.following();
  arrivals.followed();
  expect(await isSettled(waiting)).toBe(true);
});
