import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Coalescer } from './coalescer.ts';

test('questions during a round are asked together afterwards, and each gets its own answer', async () => {
  const rounds: number[][] = [];
  const together = new Coalescer(async (questions: readonly number[]) => {
    rounds.push([...questions]);
    await setImmediate();
    return questions.map(question => (question === 3 ? new Error('three') : 10 * question));
  });
  const answers = await Promise.allSettled([1, 2, 3, 4].map(question => together.ask(question)));
  expect(rounds).toEqual([[1], [2, 3, 4]]);
  expect(
    answers.map(answer => (answer.status === 'fulfilled' ? answer.value : answer.reason.message)),
  ).toEqual([10, 20, 'three', 40]);
});

test('an error of a round rejects all of its questions, and the next round is independent', async () => {
  let broken = true;
  const together = new Coalescer(async (questions: readonly number[]) => {
    await setImmediate();
    if (broken) throw new Error('broken');
    return questions;
  });
  const first = together.ask(1);
  const second = together.ask(2);
  await expect(first).rejects.toThrow('broken');
  broken = false;
  expect(await second).toBe(2);
  expect(await together.ask(3)).toBe(3);
});
