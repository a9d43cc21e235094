import { expect, test } from 'vitest';
import { aborted } from './aborted.ts';
import { KeyedQueue } from './keyedqueue.ts';
import { sleep } from './sleep.ts';

test('sleep() ends with its signal, also one that was aborted before', async () => {
  const stop = new AbortController();
  const sleeping = sleep(60_000, stop.signal);
  stop.abort();
  await sleeping;
  await sleep(60_000, stop.signal);
  expect(stop.signal.aborted).toBe(true);
});

test('aborted() settles with its signal, also one that was aborted before', async () => {
  const stop = new AbortController();
  let settled = false;
  const waiting = aborted(stop.signal).then(() => {
    settled = true;
  });
  await Promise.resolve();
  expect(settled).toBe(false);
  stop.abort();
  await waiting;
  await aborted(stop.signal);
  expect(settled).toBe(true);
});

test('KeyedQueue runs the work of one key in order, of another meanwhile, and goes on after a failure', async () => {
  const queue = new KeyedQueue<string>();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue.run('a', async () => {
    await gate.promise;
    log.push('a1');
    throw new Error('a1 failed');
  });
  const second = queue.run('a', async () => void log.push('a2'));
  await queue.run('b', async () => void log.push('b1'));
  await expect.poll(() => queue.busy).toEqual(new Set(['a']));
  gate.resolve();
  await expect(first).rejects.toThrow('a1 failed');
  await second;
  expect(log).toEqual(['b1', 'a1', 'a2']);
  await expect.poll(() => queue.busy).toEqual(new Set());
});
