import { beforeAll, expect, test } from 'vitest';
import { kubectl, nodes, until } from './support/cluster.ts';
import { policyIsFollowed } from './support/followed.ts';
import { type Shop, shop } from './support/shop.ts';
import { agents } from './support/site.ts';

let place: Shop;
beforeAll(async () => {
  place = await shop('agent');
});

test('a rolling update of the agents: not one wrong verdict', async () => {
  await place.undisturbed(async () => {
    const before = await agents();
    await kubectl('-n', 'sluice', 'rollout', 'restart', 'daemonset/sluice');
    await kubectl('-n', 'sluice', 'rollout', 'status', 'daemonset/sluice', '--timeout=120s');
    const after = await agents();
    for (const node of nodes) expect(after.get(node)?.name).not.toBe(before.get(node)?.name);
  });
  await policyIsFollowed(place);
});

test('an agent that is killed leaves its rules in force, and the next one takes them over: not one wrong verdict', async () => {
  const before = await agents();
  await place.undisturbed(async () => {
    for (const { pid } of before.values()) process.kill(pid, 'SIGKILL');
    await until('agents were started again, and are ready', async () => {
      const now = await agents();
      const again = nodes.every(
        node => now.get(node)!.ready && now.get(node)!.restarts > before.get(node)!.restarts,
      );
      return again ? true : undefined;
    });
  });
  await policyIsFollowed(place);
});
