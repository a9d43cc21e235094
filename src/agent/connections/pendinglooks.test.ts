import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import { PendingLooks } from './pendinglooks.ts';

const some = (...names: string[]) => new Set(names as Address[]);
const many = some('a', 'b', 'c', 'd', 'e');

test('few addresses go before many, and what is added meanwhile is looked at together', () => {
  const pending = new PendingLooks();
  pending.add(many);
  pending.add(some('x'));
  pending.add(some('y'));
  expect([pending.take(), pending.take(), pending.isEmpty]).toEqual([some('x', 'y'), many, true]);
});

test('where few come all the time, many have every other turn', () => {
  const pending = new PendingLooks();
  pending.add('everybody');
  pending.add(some('x'));
  expect(pending.take()).toEqual(some('x'));
  pending.add(some('x'));
  expect(pending.take()).toBe('everybody');
  expect(pending.take()).toEqual(some('x'));
  expect(pending.isEmpty).toBe(true);
});

test('nobody is nothing to look at', () => {
  const pending = new PendingLooks();
  pending.add('nobody');
  expect(pending.isEmpty).toBe(true);
});
