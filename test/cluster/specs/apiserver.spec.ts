import { beforeAll, expect, test } from 'vitest';
import { call, remove } from './support/api.ts';
import { sleep, until, within } from './support/cluster.ts';
import { type Shop, shop } from './support/shop.ts';
import { endpoint, settles } from './support/site.ts';

let place: Shop;
beforeAll(async () => {
  place = await shop('apiserver');
});

test('while the API server is away rules stay; when it is back policy is followed again', async () => {
  await place.undisturbed(async () => {
    await within('cp', 'pkill', '-KILL', '-x', 'kube-apiserver');
    await sleep(3000);
    await until('the API server is back', async () => {
      const ready = await call('GET', '/readyz').catch(() => undefined);
      return ready?.status === 200 ? true : undefined;
    });
    await sleep(3000);
  });
  const { db, stranger } = place;
  const open = await place.policy('open', { podSelector: { matchLabels: { name: 'db' } }, ingress: [{}] });
  expect(await settles(stranger, endpoint(db.address), 'open', 'tcp', 40_000)).toBe('open');
  await remove(open);
  expect(await settles(stranger, endpoint(db.address), 'closed')).toBe('closed');
});
