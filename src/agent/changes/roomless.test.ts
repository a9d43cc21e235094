import { expect, test } from 'vitest';
import { allowPort, ingressPolicy } from '../../../test/support/agent/tenants.ts';
import { quarantineProblem } from './quarantineproblem.ts';
import { Roomless } from './roomless.ts';

const [web, api] = [
  ingressPolicy('tenant/web', [allowPort(80)]),
  ingressPolicy('tenant/api', [allowPort(81)]),
];
const change = { id: web.id, value: web };

test('a policy without room is named with what is missing and what happens now', () => {
  const roomless = new Roomless();
  roomless.flushed([change], [web], 0);
  const [problem] = roomless.list.map(quarantineProblem);
  expect(problem).toMatchObject({
    object: 'NetworkPolicy tenant/web',
    message: expect.stringContaining(
      'more addresses than a node has room for (in sets, 1,000,000 of one namespace and 2,000,000 of all)',
    ),
    effect: 'it isolates the pods that it selects and allows nothing until it changes, or there is room',
  });
});

test('it is tried again after half a minute, then after twice as long, one at a time', () => {
  const roomless = new Roomless();
  roomless.flushed([], [web, api], 0);
  expect(roomless.takeDue(29_999)).toBeUndefined();
  expect(roomless.takeDue(30_000)).toEqual(change);
  expect(roomless.takeDue(30_001)).toBeUndefined();
  roomless.flushed([change], [web], 30_002);
  expect(roomless.takeDue(36_000)).toEqual({ id: api.id, value: api });
  roomless.flushed([{ id: api.id, value: api }], [], 36_001);
  expect(roomless.list.map(({ id }) => id)).toEqual([web.id]);
  expect(roomless.takeDue(90_001)).toBeUndefined();
  expect(roomless.takeDue(90_002)).toEqual(change);
});

test('one that waits for something else holds nobody up', () => {
  const roomless = new Roomless();
  roomless.flushed([], [web, api], 0);
  expect(roomless.takeDue(30_000, id => id === web.id)).toEqual({ id: api.id, value: api });
  expect(roomless.takeDue(35_000, () => true)).toBeUndefined();
  expect(roomless.takeDue(35_000)).toEqual(change);
});

test('whoever is taken in and not refused has room', () => {
  const roomless = new Roomless();
  roomless.flushed([], [web], 0);
  roomless.flushed([{ id: api.id, value: api }], [], 1);
  expect(roomless.list).toHaveLength(1);
  roomless.flushed([{ id: web.id, value: undefined }], [], 2);
  expect(roomless.list).toEqual([]);
  expect(roomless.takeDue(1_000_000)).toBeUndefined();
});
