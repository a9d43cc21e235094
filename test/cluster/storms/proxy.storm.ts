/** Connections to the API server are cut at random, stall, and end in the middle of lists. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { Churn, dice } from './churn.ts';
import { clusterPolicy, definition } from './objects.ts';
import type { Fate } from './saboteur.ts';
import { seed } from './seed.ts';
import { Storm } from './storm.ts';

const STORM_MS = Number(process.env.STORM_S ?? 40) * 1000;
/** For what the agent does of itself. */
const PATIENCE_MS = 180_000;
const random = dice(seed + 1);

let storm: Storm;
let churn: Churn;

beforeAll(async () => {
  storm = await Storm.begin();
  churn = new Churn(storm.api, seed);
  const definitions = definition('clusternetworkpolicies');
  await storm.api.apply(definitions);
  await storm.api.established(definitions);
  churn.clusterKinds = ['cluster v1alpha2'];
  await churn.begin();
  await churn.blow(60);
});

afterAll(() => storm?.end());

/** A handshake alone takes some 3,000 bytes, a list here some 100,000. */
const FATES: readonly (() => Fate)[] = [
  () => ({ kind: 'cut', bytes: Math.floor(10 ** (2 + 4 * random())) }),
  () => ({ kind: 'end', bytes: Math.floor(10 ** (3 + 3 * random())) }),
  () => ({ kind: 'reset', afterMs: 2000 * random() }),
  () => ({ kind: 'stall', bytes: Math.floor(10 ** (3 + 3 * random())), ms: 5000 * random() }),
  () => ({ kind: 'whole' }),
];

test('an agent that can never read a whole list writes nothing', async () => {
  storm.saboteur.fate = () => ({ kind: 'cut', bytes: 5000 });
  const agent = storm.startAgent();
  await until('the agent has tried', async () => storm.saboteur.connections > 30, PATIENCE_MS);
  expect((await storm.programmed()).tables.size).toBe(0);
  expect(agent.output).not.toContain('rules in force');
  storm.saboteur.fate = () => ({ kind: 'whole' });
  await agent.inForce();
  await storm.calm();
});

test(`after ${STORM_MS / 1000} s of it the rules are those of the API server, and not one packet was judged wrong`, async () => {
  await storm.startProbing();
  const [connections, changes] = [storm.saboteur.connections, churn.changes];
  storm.saboteur.fate = () => FATES[Math.floor(random() * FATES.length)]!();
  const stop = new AbortController();
  const blowing = churn.blowUntil(stop.signal);
  const isEnough = () => storm.saboteur.connections - connections > 60 && churn.changes - changes > 100;
  for (const end = Date.now() + STORM_MS; Date.now() < end || !isEnough(); ) {
    await setTimeout(3000 * random());
    storm.saboteur.cutAll();
  }
  stop.abort();
  await blowing;
  storm.saboteur.fate = () => ({ kind: 'whole' });
  await storm.calm();
  expect(await storm.stopProbing()).toEqual([]);
});

test('while every list ends before its end, nothing is believed to be gone', async () => {
  const policy = clusterPolicy('kept', {
    tier: 'Admin',
    priority: 9,
    subject: { namespaces: { matchLabels: { team: 'a' } } },
    ingress: [{ action: 'Deny', from: [{ namespaces: {} }] }],
  });
  await storm.api.apply(policy);
  await storm.calm();
  const before = await storm.programmed();
  storm.saboteur.fate = () => ({ kind: 'end', bytes: 4500 });
  storm.saboteur.cutAll();
  await setTimeout(10_000);
  expect(await storm.programmed()).toEqual(before);
  storm.saboteur.fate = () => ({ kind: 'whole' });
  await storm.api.remove(policy);
  await storm.calm();
});
