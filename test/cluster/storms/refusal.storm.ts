/** The API server refuses the agent: its token (401), then one permission after the other (403). */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Manifest } from './api.ts';
import { beginBlown } from './blown.ts';
import type { Churn } from './churn.ts';
import { networkPolicy } from './objects.ts';
import type { Storm } from './storm.ts';

let storm: Storm;
let churn: Churn;

beforeAll(async () => {
  ({ storm, churn } = await beginBlown());
});

afterAll(() => storm?.end());

test('a token that is refused leaves the rules, and a good one in the file is taken', async () => {
  // Made anew under its name it is another account: no token of the old one is good any more.
  await storm.api.remove(ACCOUNT);
  const before = await storm.refused('Pod');
  await churn.blow(30);
  expect(await storm.programmed()).toEqual(before);
  await storm.api.apply(ACCOUNT);
  storm.token = await storm.newToken();
  await storm.calm();
});

test('a resource that may not be read leaves the rules that come of it, while others are followed', async () => {
  const role = (await storm.api.get(ROLE)) as Manifest & { rules: Rule[] };
  await storm.api.merge(role, {
    rules: role.rules.filter(({ apiGroups }) => !apiGroups.includes('networking.k8s.io')),
  });
  await storm.refused('NetworkPolicy');
  const unread = networkPolicy('blue/unread', { podSelector: {} });
  await storm.api.apply(unread);
  await setTimeout(2000);
  expect(JSON.stringify([...(await storm.programmed()).tables])).not.toContain('unread');
  await storm.api.merge(role, { rules: role.rules });
  await storm.calm();
});

test('not one packet was judged wrong meanwhile', async () => {
  expect(await storm.stopProbing()).toEqual([]);
});

interface Rule {
  readonly apiGroups: readonly string[];
}

const ACCOUNT = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'sluice', namespace: 'sluice' },
};
const ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/sluice';
