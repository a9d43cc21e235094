/** Whether a namespace lives whose policy is deleted: asked until it is answered, and no word in between. */
import { expect, test } from 'vitest';
import type { ClusterEvent, Pod } from '../../../model/cluster.ts';
import type { Policy } from '../../../model/policy.ts';
import { ApiError } from '../client/api.ts';
import { ClusterFeed } from './clusterfeed.ts';

const POLICY = 'NetworkPolicy shop/web';
const GONE: ClusterEvent = { type: 'policy', key: POLICY };

/**
 * One pod and one policy that allows something, or, after a restart, rules in force that isolate the pod; with promises
 * for the passing of time and for the server's answer.
 */
function site({ isRestarted = false } = {}) {
  const events: ClusterEvent[] = [];
  const sleeping: { ms: number; wake: () => void }[] = [];
  const questions: PromiseWithResolvers<boolean>[] = [];
  const closed = new AbortController();
  let nowMs = 0;
  const feed = new ClusterFeed(
    { onEvents: some => void events.push(...some), onProblems: () => {}, onSource: () => {} },
    {
      isLiving: () => {
        const question = Promise.withResolvers<boolean>();
        questions.push(question);
        return question.promise;
      },
      timing: {
        now: () => nowMs,
        random: () => 1,
        sleep: (ms, signal) =>
          new Promise(wake => {
            signal.addEventListener('abort', () => wake());
            sleeping.push({ ms, wake });
          }),
      },
      signal: closed.signal,
      ...(isRestarted && { isolated: new Map([['shop/web', new Set(['ingress'] as const)]]) }),
    },
  );
  const ingress = [{ path: 'ingress[0]', action: 'accept', peers: 'any', ports: 'any' }];
  const policy = { kind: 'NetworkPolicy', name: 'shop/web', ingress } as unknown as Policy;
  feed.publish([
    { type: 'pod', key: 'shop/web', value: { key: 'shop/web', node: 'n1', labels: {} } as unknown as Pod },
    ...(isRestarted ? [] : [{ ...GONE, value: policy } as ClusterEvent]),
  ]);
  events.length = 0;
  return {
    feed,
    questions,
    closed,
    sleeping,
    /** Advances the time by so many milliseconds; returns what was published meanwhile. */
    pass: async (ms: number) => {
      nowMs += ms;
      for (const each of sleeping.splice(0)) {
        if (each.ms > ms) sleeping.push({ ...each, ms: each.ms - ms });
        else each.wake();
      }
      for (let turns = 0; turns < 10; turns++) await undefined;
      return events.splice(0).map(({ value }) => (value === undefined ? 'gone' : 'isolates'));
    },
  };
}

test('a policy of a namespace that lives is gone by the answer, and never isolates only', async () => {
  const { feed, questions, pass } = site();
  feed.publish([GONE]);
  expect(await pass(900)).toEqual([]);
  questions[0]!.resolve(true);
  expect(await pass(0)).toEqual(['gone']);
  expect(await pass(20_000)).toEqual([]);
  expect(questions).toHaveLength(1);
});

test('what it allowed goes when the answer is late, and the rest by the answer', async () => {
  const { feed, questions, pass } = site();
  feed.publish([GONE]);
  expect(await pass(1_000)).toEqual(['isolates']);
  questions[0]!.resolve(true);
  expect(await pass(0)).toEqual(['gone']);
});

test('an answer that does not come is asked for again, later each time and as late as the server says', async () => {
  const { feed, questions, pass, sleeping } = site();
  feed.publish([GONE]);
  const waits: number[] = [];
  for (let i = 0; i < 9; i++) {
    questions.at(-1)!.reject(i === 8 ? new ApiError(429, 'busy', { retryAfterMs: 30_000 }) : new Error('x'));
    await pass(0);
    waits.push(Math.max(...sleeping.map(({ ms }) => ms)));
    await pass(60_000);
  }
  expect(waits).toEqual([1000, 200, 400, 800, 1600, 3200, 6400, 10_000, 30_000]);
  questions.at(-1)!.resolve(true);
  expect(await pass(0)).toEqual(['gone']);
});

test('of a namespace that is ending it isolates until its last pod is gone', async () => {
  const { feed, questions, pass } = site();
  feed.publish([GONE]);
  questions[0]!.resolve(false);
  expect(await pass(0)).toEqual(['isolates']);
  expect(await pass(60_000)).toEqual([]);
  feed.publish([{ type: 'pod', key: 'shop/web' }]);
  expect(await pass(0)).toEqual(['gone', 'gone']);
});

test('an answer settles what was deleted before the question: what comes meanwhile is asked for again', async () => {
  const { feed, questions, pass } = site();
  const other: ClusterEvent = { type: 'policy', key: 'NetworkPolicy shop/other' };
  feed.publish([
    { ...other, value: { kind: 'NetworkPolicy', name: 'shop/other' } as Policy } as ClusterEvent,
  ]);
  await pass(0);
  feed.publish([GONE]);
  feed.publish([other]);
  questions[0]!.resolve(true);
  expect(await pass(0)).toEqual(['gone']);
  expect(questions).toHaveLength(2);
  questions[1]!.resolve(true);
  expect(await pass(0)).toEqual(['gone']);
});

test.each([
  ['lives', true, []],
  ['is ending', false, ['isolates']],
])(
  'of an agent that starts, nothing is settled before it is known whether the namespace %s',
  async (_, lives, published) => {
    const { feed, questions, pass } = site({ isRestarted: true });
    feed.reportSource({ source: 'Pod', state: 'synced' });
    expect(questions).toHaveLength(0);
    feed.reportSource({ source: 'NetworkPolicy', state: 'synced' });
    let isSettled = false;
    void feed.settled.then(() => {
      isSettled = true;
    });
    expect(await pass(900)).toEqual([]);
    expect(isSettled).toBe(false);
    questions[0]!.resolve(lives);
    expect(await pass(0)).toEqual(published);
    expect(isSettled).toBe(true);
  },
);

test('and an agent that starts waits for no answer that is late: it isolates until there is one', async () => {
  const { feed, pass } = site({ isRestarted: true });
  for (const source of ['Pod', 'NetworkPolicy']) feed.reportSource({ source, state: 'synced' });
  const { settled } = feed;
  expect(await pass(1_000)).toEqual(['isolates']);
  await settled;
});

test('nothing is published once it is closed', async () => {
  const { feed, questions, pass, closed } = site();
  feed.publish([GONE]);
  closed.abort();
  questions[0]!.resolve(true);
  expect(await pass(60_000)).toEqual([]);
  expect(questions).toHaveLength(1);
});
