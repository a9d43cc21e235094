/** The agent is killed in the middle of a storm, again and again. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Churn, dice } from './churn.ts';
import { seed } from './seed.ts';
import { Storm } from './storm.ts';

const CRASHES = 12;
const random = dice(seed + 1);

let storm: Storm;
let churn: Churn;

beforeAll(async () => {
  storm = await Storm.begin();
  churn = new Churn(storm.api, seed);
  await churn.begin();
});

afterAll(() => storm?.end());

test(`${CRASHES} agents are killed at any moment of a storm, and the last one brings the rules of the API server`, async () => {
  let agent = storm.startAgent();
  await agent.inForce();
  await storm.startProbing();
  const stop = new AbortController();
  const blowing = churn.blowUntil(stop.signal);
  for (let crash = 0; crash < CRASHES; crash++) {
    // Some before they have read the cluster, some in the middle of a commit.
    await setTimeout(5000 * random());
    await agent.kill();
    expect((await storm.programmed()).tables.size).toBe(2);
    agent = storm.startAgent();
  }
  await agent.inForce();
  await churn.blow(20);
  stop.abort();
  await blowing;
  expect(churn.changes).toBeGreaterThan(100);
  await storm.calm();
  expect(await storm.stopProbing()).toEqual([]);
});
