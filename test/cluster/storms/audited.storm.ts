/** An audited policy: its author is told what it would deny, nothing is denied, and enforced it denies just that. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import type { Manifest, ToldEvent } from './api.ts';
import { FIRM_FLOWS, HOSTS } from './firm.ts';
import { networkPolicy } from './objects.ts';
import { Storm } from './storm.ts';

/** Pods of probe may open nothing. */
const STRICT = networkPolicy('probe/strict', { podSelector: {}, policyTypes: ['Egress'] });
const ENFORCEMENT = 'sluice.dev/enforcement';
const AUDITED: Manifest = {
  ...STRICT,
  metadata: { ...STRICT.metadata, annotations: { [ENFORCEMENT]: 'audit' } },
};

let storm: Storm;

beforeAll(async () => {
  storm = await Storm.begin();
  await storm.api.apply(AUDITED);
});

afterAll(() => storm?.end());

const events = () => storm.api.eventsOf(STRICT);

/** New connections, of which none is judged otherwise than without the policy. */
async function isProbed(): Promise<true> {
  await storm.startProbing();
  expect(await storm.stopProbing()).toEqual([]);
  return true;
}

test('its author is told by an Event what it would have denied, and not one packet is', async () => {
  await storm.startAgent().inForce();
  // An agent looks once a minute whether there is something to tell; of a burst it may judge the first ones alone.
  await until('an Event', async () => (await isProbed()) && (await events()).length > 0, 240_000);
  const [{ type, reason, message } = {} as ToldEvent, ...others] = await events();
  expect([type, reason, others]).toEqual(['Normal', 'PolicyAudited', []]);
  const told =
    /^audited, not enforced: on node n1 would have denied (\d+) connections?: probe\/x -> probe\/t:2222\/UDP \((\d+)\) \(in \d+ min\) \(generation 1\)$/;
  expect(message).toMatch(told);
  const [, count, ofThese] = told.exec(message)!;
  expect(ofThese).toBe(count);
}, 300_000);

test('enforced it denies what it was said to deny, and nothing else changes', async () => {
  await storm.api.merge(AUDITED, { metadata: { annotations: { [ENFORCEMENT]: null } } });
  await storm.calm();
  await storm.startProbing();
  const denied = (await storm.stopProbing()).map(text => text.slice(0, text.indexOf(': ')));
  const opened = FIRM_FLOWS.filter(({ to, port }) => HOSTS['probe/t'].includes(to as never) && port === 2222);
  expect(denied.sort()).toEqual(opened.map(({ from, to, port }) => `${from} -> ${to}:${port}`).sort());
}, 120_000);
