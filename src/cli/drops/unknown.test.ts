import { expect, test, vi } from 'vitest';
import { unknownOf } from './filter.ts';

const STATE = [
  ['namespace', 'empty'],
  ['pod', 'shop/db'],
  ['policy', 'NetworkPolicy shop/closed'],
  ['policy', 'ClusterNetworkPolicy mail-by-name'],
].map(([type, key]) => ({ type: type!, key: key!, json: '{}' }));

test.each([
  [{ namespace: 'shop' }, []],
  [{ namespace: 'empty' }, []],
  [{ namespace: 'sho' }, ['namespace sho']],
  [{ pod: 'db' }, []],
  [{ pod: 'shop/db', namespace: 'empty' }, []],
  [{ pod: 'bd' }, ['pod bd']],
  [{ pod: 'db', namespace: 'empty' }, ['pod db']],
  [{ policy: 'closed' }, []],
  [{ policy: 'cnp:mail-by-name' }, []],
  [{ policy: 'shop/close' }, ['policy shop/close']],
  [{ namespace: 'x', pod: 'y', policy: 'z' }, ['namespace x', 'pod y', 'policy z']],
])('unknownOf() says of %j that the agent does not know %j', async (filter, unknown) => {
  expect(await unknownOf({ state: async () => STATE }, filter)).toEqual(unknown);
});

test('unknownOf() says nothing where the agent cannot tell, and asks nothing where nobody asks', async () => {
  const filter = { pod: 'web' };
  const fails = async () => Promise.reject(new Error('too slow'));
  expect(await unknownOf({ state: fails }, filter)).toEqual([]);
  expect(await unknownOf({ state: async () => [] }, filter)).toEqual([]);
  const state = vi.fn(async () => STATE);
  await unknownOf({ state }, {});
  expect(state).not.toHaveBeenCalled();
});
