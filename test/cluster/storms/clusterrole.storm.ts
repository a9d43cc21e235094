/** The ClusterRole of daemonset/ is what the agent needs: it uses all of it and asks for nothing else. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import type { Manifest } from './api.ts';
import { definition, networkPolicy } from './objects.ts';
import {
  type Permission,
  permissionText,
  usedPermissions,
  without,
  writtenPermissions,
} from './permissions.ts';
import { Storm } from './storm.ts';

/** Asked for at the end of an agent that runs in a pod, as those of specs/removal.spec.ts do. */
const OF_PODS = 'get apps/daemonsets sluice';

const WRITTEN = writtenPermissions().filter(permission => permissionText(permission) !== OF_PODS);
const DEFINITIONS = ['clusternetworkpolicies', 'adminnetworkpolicies', 'baselineadminnetworkpolicies'].map(
  definition,
);

const PATIENCE_MS = 60_000;
/** Within which a list is answered after a cut. */
const LISTED_MS = 5_000;

let storm: Storm;

beforeAll(async () => {
  storm = await Storm.begin();
  for (const object of DEFINITIONS) {
    await storm.api.apply(object);
    await storm.api.established(object);
  }
});

afterAll(() => storm?.end());

test('the audit log shows every permission in use, and no request for another', async () => {
  const agent = storm.startAgent();
  await agent.inForce();
  // A policy with a problem, so that there is something to tell its author.
  await storm.api.apply(DOUBTFUL);
  await storm.calm();
  await setTimeout(1500);
  // A watch that was cut asks by a list which revision the server has.
  storm.saboteur.cutAll();
  await setTimeout(3000);
  await agent.kill('SIGTERM');
  expect(usedPermissions(storm.plane.auditLog)).toEqual(WRITTEN.map(permissionText));
});

test.each(WRITTEN.map(permission => [permissionText(permission), permission] as const))(
  'without %s the agent says that it is missing',
  async (_, permission) => {
    await storm.api.apply(without(permission));
    const agent = storm.startAgent();
    try {
      await missed(agent, permission);
    } finally {
      await agent.kill('SIGTERM');
      await storm.api.apply(without(undefined));
    }
  },
);

/** What the agent says it may not do. A definition is known by its plural. */
async function missed(
  agent: { readonly output: string },
  { verb, resource, name }: Permission,
): Promise<void> {
  // The server says: User "…" cannot list resource "pods" in API group …
  const refusal = new RegExp(`${name ?? ''}.*cannot ${verb} resource \\W+${resource}\\W`);
  await until(
    'the agent says what it may not do',
    async () => {
      // A list is asked for after a cut only; cut itself, it would be that what the agent speaks of.
      if (verb === 'list') storm.saboteur.cutAll();
      for (let waitedMs = 0; waitedMs < LISTED_MS && !refusal.test(agent.output); waitedMs += 100)
        await setTimeout(100);
      return refusal.test(agent.output);
    },
    PATIENCE_MS,
  );
  // Nothing depends on the names of Services; policies are asked for all the same where their definition is not known.
  const isDispensable = ['services', 'customresourcedefinitions'].includes(resource);
  if (verb === 'watch' && !isDispensable)
    await until('the node is not ready', async () => (await storm.status())?.ready === false);
}

/** The API takes it, and the annotation means nothing. */
const DOUBTFUL: Manifest = {
  ...networkPolicy('default/doubtful', { podSelector: {} }),
  metadata: {
    name: 'doubtful',
    namespace: 'default',
    annotations: { 'sluice.dev/enforcement': 'perhaps' },
  },
};
