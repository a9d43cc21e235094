import { beforeAll, expect, test } from 'vitest';
import { call, remove } from './support/api.ts';
import { until, within } from './support/cluster.ts';
import { type Shop, shop } from './support/shop.ts';
import { endpoint, settles } from './support/site.ts';

let place: Shop;
beforeAll(async () => {
  place = await shop('apiserver');
});

const isReady = async () => {
  const ready = await call('GET', '/readyz').catch(() => undefined);
  return ready?.status === 200;
};

test('while the API server is away rules stay; when it is back policy is followed again', async () => {
  const { db, stranger } = place;
  await place.undisturbed(async () => {
    await within('cp', 'pkill', '-KILL', '-x', 'kube-apiserver');
    await until('the API server is away', async () => ((await isReady()) ? undefined : true));
    await until('the API server is back', async () => ((await isReady()) ? true : undefined));
    // Closes another pod than those that are dialled meanwhile: both agents have read the policies again by then.
    const web = await place.policy('web', { podSelector: { matchLabels: { name: 'web' } } });
    expect(await settles(db, endpoint(place.web.address), 'closed', 'tcp', 40_000)).toBe('closed');
    await remove(web);
    expect(await settles(db, endpoint(place.web.address), 'open')).toBe('open');
  });
  const open = await place.policy('open', { podSelector: { matchLabels: { name: 'db' } }, ingress: [{}] });
  expect(await settles(stranger, endpoint(db.address), 'open', 'tcp', 40_000)).toBe('open');
  await remove(open);
  expect(await settles(stranger, endpoint(db.address), 'closed')).toBe('closed');
});
