import { expect, test } from 'vitest';
import { NetworkError } from '../error.ts';
import { NetworkUnavailableWatch } from './networkunavailable.ts';

const FULL = new NetworkError('exhausted', 'all 6 are in use');

function watched() {
  const told: (string | undefined)[] = [];
  let looks = 0;
  let found: NetworkError | undefined;
  const find = async () => {
    looks++;
    return found;
  };
  const watch = new NetworkUnavailableWatch(find, unavailable => told.push(unavailable?.message));
  return {
    watch,
    told,
    looks: () => looks,
    set: (to: NetworkError | undefined) => {
      found = to;
      watch.look();
    },
  };
}

test('NetworkUnavailableWatch tells the first look whatever it finds, then what changes, and looks once for many', async () => {
  const { watch, told, looks, set } = watched();
  watch.look();
  await expect.poll(() => told).toEqual([undefined]);
  const before = looks();
  for (let i = 0; i < 20; i++) set(FULL);
  await expect.poll(() => told).toEqual([undefined, 'all 6 are in use']);
  expect(looks() - before).toBe(1);
  set(FULL);
  await expect.poll(() => looks() - before).toBe(2);
  set(undefined);
  await expect.poll(() => told).toEqual([undefined, 'all 6 are in use', undefined]);
  watch.close();
});

test('NetworkUnavailableWatch looks again for what happens while it looks', async () => {
  const told: (string | undefined)[] = [];
  let taken = 6;
  const looking = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let looks = 0;
  const find = async () => {
    const found = taken === 6 ? FULL : undefined;
    await looking[looks++]!.promise; // it was read before the address came back
    return found;
  };
  const watch = new NetworkUnavailableWatch(find, unavailable => told.push(unavailable?.message));
  watch.look();
  await expect.poll(() => looks).toBe(1);
  taken = 5;
  watch.look();
  for (const { resolve } of looking) resolve();
  await expect.poll(() => told).toEqual(['all 6 are in use', undefined]);
  watch.close();
});
