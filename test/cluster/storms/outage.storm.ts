/** The API server is away, is killed, and comes back with an older state. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginBlown } from './blown.ts';
import type { Churn } from './churn.ts';
import { networkPolicy } from './objects.ts';
import type { Storm } from './storm.ts';

const OUTAGE_MS = Number(process.env.OUTAGE_S ?? 60) * 1000;
const LOOK_EVERY_MS = 1000;

let storm: Storm;
let churn: Churn;

beforeAll(async () => {
  ({ storm, churn } = await beginBlown());
});

afterAll(() => storm?.end());

test(`the rules stay while the API server is away for ${OUTAGE_MS / 1000} s, and follow when it is back`, async () => {
  const before = await storm.programmed();
  await storm.plane.server.stop();
  for (const end = Date.now() + OUTAGE_MS; Date.now() < end; await setTimeout(LOOK_EVERY_MS))
    expect(await storm.programmed()).toEqual(before);
  const status = await storm.status();
  expect(status?.checks.find(({ name }) => name === 'last-event')?.reason).toContain('cannot be read');
  await storm.plane.begin();
  await churn.blow(40);
  await storm.calm();
});

test('the API server is killed again and again while the cluster changes', async () => {
  for (let round = 0; round < 3; round++) {
    await churn.blow(20);
    await storm.plane.server.stop('SIGKILL');
    await storm.plane.begin();
    await churn.blow(20);
  }
  await storm.calm();
});

test('what was deleted while nobody listened is gone', async () => {
  const policy = networkPolicy('blue/passing', { podSelector: {} });
  await storm.api.apply(policy);
  await storm.calm();
  storm.saboteur.fate = () => ({ kind: 'cut', bytes: 0 });
  storm.saboteur.cutAll();
  await storm.api.remove(policy);
  await churn.blow(40);
  // A new server remembers nothing of before: to all revisions that the agent knows it says 410.
  await storm.plane.server.stop('SIGKILL');
  await storm.plane.begin();
  storm.saboteur.fate = () => ({ kind: 'whole' });
  await storm.calm();
});

test('a storage that is rolled back is followed to the older state, and on from there', async () => {
  await storm.plane.save();
  await churn.blow(100);
  await storm.calm();
  const lost = networkPolicy('blue/lost', { podSelector: {} });
  await storm.api.apply(lost);
  await storm.calm();
  await storm.plane.restore();
  expect(await storm.api.exists(lost)).toBe(false);
  await storm.calm();
  churn.forget();
  await churn.blow(100);
  await storm.calm();
});

test('not one packet was judged wrong meanwhile', async () => {
  expect(await storm.stopProbing()).toEqual([]);
});
