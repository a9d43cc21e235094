import { expect, test } from 'vitest';
import { allowPort, ingressPolicy } from '../../../test/support/agent/tenants.ts';
import { isQuarantined, quarantineProblem } from '../../model/policystatus.ts';
import { Quarantine } from './quarantine.ts';

const [web, api] = [
  ingressPolicy('tenant/web', [allowPort(80)]),
  ingressPolicy('tenant/api', [allowPort(81)]),
];
const change = { id: web.id, value: web };

test('a policy without room is named with what is missing and what happens now', () => {
  const quarantine = new Quarantine();
  quarantine.flushed([change], [web], 0);
  const [problem] = quarantine.statuses().filter(isQuarantined).map(quarantineProblem);
  expect(problem).toMatchObject({
    object: 'NetworkPolicy tenant/web',
    message: expect.stringContaining(
      'more addresses than a node has room for (in sets, 1,000,000 of one namespace and 2,000,000 of all)',
    ),
    effect: 'it isolates the pods that it selects and allows nothing until it changes, or there is room',
  });
});

test('it is tried again after half a minute, then after twice as long, one at a time', () => {
  const quarantine = new Quarantine();
  quarantine.flushed([], [web, api], 0);
  expect(quarantine.takeWithoutRoom(29_999)).toBeUndefined();
  expect(quarantine.takeWithoutRoom(30_000)).toEqual(change);
  expect(quarantine.takeWithoutRoom(30_001)).toBeUndefined();
  quarantine.flushed([change], [web], 30_002);
  expect(quarantine.takeWithoutRoom(36_000)).toEqual({ id: api.id, value: api });
  quarantine.flushed([{ id: api.id, value: api }], [], 36_001);
  expect(quarantine.statuses().map(({ id }) => id)).toEqual([web.id]);
  expect(quarantine.takeWithoutRoom(90_001)).toBeUndefined();
  expect(quarantine.takeWithoutRoom(90_002)).toEqual(change);
});

test('one that waits for something else holds nobody up', () => {
  const quarantine = new Quarantine();
  quarantine.flushed([], [web, api], 0);
  expect(quarantine.takeWithoutRoom(30_000, id => id === web.id)).toEqual({ id: api.id, value: api });
  expect(quarantine.takeWithoutRoom(35_000, () => true)).toBeUndefined();
  expect(quarantine.takeWithoutRoom(35_000)).toEqual(change);
});

test('whoever is taken in and not refused has room', () => {
  const quarantine = new Quarantine();
  quarantine.flushed([], [web], 0);
  quarantine.flushed([{ id: api.id, value: api }], [], 1);
  expect(quarantine.statuses()).toHaveLength(1);
  quarantine.flushed([{ id: web.id, value: undefined }], [], 2);
  expect(quarantine.statuses()).toEqual([]);
  expect(quarantine.takeWithoutRoom(1_000_000)).toBeUndefined();
});
