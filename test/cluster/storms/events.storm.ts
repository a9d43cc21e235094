/** What the author of a policy is told, asked for as `kubectl describe` does. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import type { Manifest } from './api.ts';
import { clusterPolicy, definition } from './objects.ts';
import { Storm } from './storm.ts';

/** As a definition from before somebody thought of these checks. */
const DEFINITION: Manifest = JSON.parse(
  JSON.stringify(definition('clusternetworkpolicies')),
  (key, value: unknown) => (key === 'x-kubernetes-validations' ? undefined : value),
);
const HEARD =
  'spec.egress[0].protocols has a named port beside peers that have none; the port matches pods only';

let storm: Storm;

beforeAll(async () => {
  storm = await Storm.begin();
  await storm.api.apply(DEFINITION);
  await storm.api.established(DEFINITION);
  await storm.api.apply(doubtful);
});

afterAll(() => storm?.end());

/** The server takes it, and it does not mean what its author believes. */
const doubtful: Manifest = clusterPolicy('platform', {
  tier: 'Admin',
  priority: 10,
  subject: { namespaces: {} },
  egress: [
    {
      action: 'Deny',
      to: [{ networks: ['198.51.100.0/24'] }],
      protocols: [{ destinationNamedPort: 'http' }],
    },
  ],
});

async function events(): Promise<string[]> {
  const found = await storm.api.eventsOf(doubtful);
  return found.map(({ type, reason, message }) => `${type} ${reason} ${message}`).toSorted();
}

const told = (generation: number) => `Warning DoubtfulPolicy ${HEARD} (generation ${generation})`;

test('one Event for a problem, also when another agent finds it again', async () => {
  const agent = storm.startAgent();
  await until('an Event', async () => (await events()).length > 0);
  await agent.kill();
  const another = storm.startAgent();
  await another.inForce();
  await setTimeout(3000);
  expect(await events()).toEqual([told(1)]);
  expect(another.output).not.toContain('cannot be reported by Events');
});

test('another for the next generation, and none for one that is mended', async () => {
  await storm.api.merge(doubtful, { spec: { priority: 11 } });
  await until('another Event', async () => (await events()).length > 1);
  await storm.api.merge(doubtful, {
    spec: { egress: [{ action: 'Deny', to: [{ networks: ['198.51.100.0/24'] }] }] },
  });
  await storm.calm();
  await setTimeout(3000);
  expect(await events()).toEqual([told(1), told(2)]);
});
