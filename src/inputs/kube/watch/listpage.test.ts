import { expect, test } from 'vitest';
import type { Api } from '../client/api.ts';
import { type ListedObject, readListPage } from './listpage.ts';
import { NETWORK_POLICIES } from './resource.ts';

/** The items of a page of NetworkPolicies, as they are handed on. */
async function listed(...items: readonly object[]): Promise<readonly ListedObject[]> {
  const list = {
    apiVersion: NETWORK_POLICIES.apiVersion,
    kind: 'NetworkPolicyList',
    metadata: { resourceVersion: '9' },
    items,
  };
  const api: Api = {
    get: async () =>
      (async function* () {
        yield Buffer.from(JSON.stringify(list));
      })(),
  };
  const taken: ListedObject[] = [];
  const take = (some: readonly ListedObject[]) => void taken.push(...some);
  await readListPage(api, NETWORK_POLICIES, {}, take, new AbortController().signal);
  return taken;
}

const metadata = { namespace: 'shop', name: 'web' };
const TYPE = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' };

test.each([
  ['says nothing is of the type of the list', {}, TYPE],
  ['says null likewise', { apiVersion: null, kind: null }, TYPE],
  ['says its type is of that', TYPE, TYPE],
  ['says another kind is of that', { kind: 'Pod' }, { ...TYPE, kind: 'Pod' }],
  ['says another apiVersion is of that', { apiVersion: 'v1' }, { ...TYPE, apiVersion: 'v1' }],
])('readListPage(): an item that %s', async (_, said, type) => {
  expect(await listed({ ...said, metadata })).toEqual([{ name: 'shop/web', object: { ...type, metadata } }]);
});
