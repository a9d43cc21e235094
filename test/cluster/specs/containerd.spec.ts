import { beforeAll, expect, test } from 'vitest';
import { until, within } from './support/cluster.ts';
import { eagerPod, firstAttempts } from './support/eager.ts';
import { type Shop, shop } from './support/shop.ts';
import { endpoint, settles } from './support/site.ts';
import { sluice } from './support/sluice.ts';

let place: Shop;
beforeAll(async () => {
  place = await shop('containerd');
  const eager = { podSelector: { matchLabels: { eager: 'yes' } }, policyTypes: ['Egress'] };
  await place.policy('eager', eager);
});

/** How many pods of node1 have started with their rules in force, as its agent counts; undefined without a gate. */
async function gated(): Promise<number | undefined> {
  const { stdout } = await sluice('node1', 'status');
  const [, count] = /start-gate +.* waits for the rules of each pod: (\d+) started/.exec(stdout) ?? [];
  return count === undefined ? undefined : Number(count);
}

const start = (name: string) =>
  eagerPod({ namespace: place.namespace, name, node: 'node1', to: endpoint(place.web.address) });

async function expectClosedFromTheFirstPacket(pods: readonly Awaited<ReturnType<typeof start>>[]) {
  for (const pod of pods) {
    const open = (await firstAttempts(pod)).filter(attempt => attempt.open);
    expect(open, `${pod.metadata.name} -> web`).toEqual([]);
  }
}

test('a container runtime that is killed: policy holds for what runs, and for what starts right after', async () => {
  await place.undisturbed(async () => {
    await within('node1', 'pkill', '-KILL', '-x', 'containerd');
    await expectClosedFromTheFirstPacket(await Promise.all(['a', 'b', 'c', 'd'].map(start)));
  });

  const before = await until('the start gate is connected again', gated);
  await expectClosedFromTheFirstPacket([await start('e')]);
  expect(await gated()).toBe(before + 1);
  const open = await place.pod('open', { node: 'node1' });
  expect(await settles(open, endpoint(place.web.address), 'open')).toBe('open');
  expect(await settles(open, endpoint(place.db.address), 'closed')).toBe('closed');
});
