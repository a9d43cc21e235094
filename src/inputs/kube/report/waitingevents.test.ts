import { expect, test } from 'vitest';
import { WaitingEvents } from './eventrecorder.ts';

function event(namespace: string | undefined, n: number) {
  const name = `${namespace} ${n}`;
  const about = { apiVersion: 'v1', kind: 'Pod', name, ...(namespace !== undefined && { namespace }) };
  return { name, spec: { about, type: 'Warning' as const, reason: 'InvalidPolicy', note: '' }, tries: 0 };
}

/** Names in the order in which they are said. */
function said(waiting: WaitingEvents): string[] {
  const names: string[] = [];
  for (let next = waiting.next(); next !== undefined; next = waiting.next()) {
    names.push(next.name);
    waiting.delete(next.name);
  }
  return names;
}

test('namespaces take turns, each with what came first', () => {
  const waiting = new WaitingEvents(100);
  for (const n of [1, 2, 3]) waiting.add(event('hostile', n));
  waiting.add(event('neighbour', 1));
  waiting.add(event(undefined, 1));
  expect(waiting.size).toBe(5);
  expect(said(waiting)).toEqual(['hostile 1', 'neighbour 1', 'undefined 1', 'hostile 2', 'hostile 3']);
  expect(waiting.size).toBe(0);
});

test('one that stays where it is, as it was not taken, keeps nobody from the next turn', () => {
  const waiting = new WaitingEvents(100);
  for (const namespace of ['a', 'b']) waiting.add(event(namespace, 1));
  expect([waiting.next(), waiting.next(), waiting.next()].map(next => next!.name)).toEqual([
    'a 1',
    'b 1',
    'a 1',
  ]);
});

test('where there are too many, whoever has most loses its last one', () => {
  const waiting = new WaitingEvents(4);
  for (const n of [1, 2, 3, 4]) expect(waiting.add(event('hostile', n))).toBe(true);
  expect(waiting.add(event('hostile', 5))).toBe(false);
  expect(waiting.add(event('neighbour', 1))).toBe(true);
  expect(waiting.add(event('neighbour', 2))).toBe(true);
  expect(waiting.add(event('neighbour', 2))).toBe(true); // it waits already
  expect(waiting.size).toBe(4);
  expect(said(waiting)).toEqual(['hostile 1', 'neighbour 1', 'hostile 2', 'neighbour 2']);
});
