import { expect, test } from 'vitest';
import { CommitBarrier } from './commitbarrier.ts';

/** Whether the promise has settled by now. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  return Promise.race([
    promise.then(() => true),
    new Promise<false>(resolve => setImmediate(resolve, false)),
  ]);
}

test('nothing is programmed before the kernel was first found or made right', async () => {
  const barrier = new CommitBarrier();
  const early = barrier.programmed();
  expect(await isSettled(early)).toBe(false);
  barrier.committing();
  barrier.committed();
  expect(await isSettled(early)).toBe(true);
  expect(await isSettled(barrier.programmed())).toBe(true);
});

test('what was noted is programmed with the first batch that begins after it and does not fail', async () => {
  const barrier = new CommitBarrier();
  barrier.committing();
  barrier.committed();
  barrier.committing();
  barrier.noted(); // while a batch is under way that was made without it
  const waiting = barrier.programmed();
  barrier.committed();
  expect(await isSettled(waiting)).toBe(false);
  barrier.committing();
  expect(await isSettled(waiting)).toBe(false);
  barrier.committing();
  barrier.committed();
  expect(await isSettled(waiting)).toBe(true);
});
