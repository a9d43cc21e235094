import { afterAll, beforeAll, expect, test } from 'vitest';
import { occupy, vacate } from './support/addresses.ts';
import { ask, remove } from './support/api.ts';
import { cni, families, until } from './support/cluster.ts';
import { endpoint, type Site, settles, site } from './support/site.ts';

let place: Site;
beforeAll(async () => {
  place = await site('exhaustion');
});
afterAll(async () => {
  if (cni === 'sluice') await vacate('node1');
  await place.leave();
});

const TAINT = 'node.kubernetes.io/network-unavailable:NoSchedule';

async function node1(): Promise<{ taints: string[]; reason: string | undefined }> {
  const { spec, status } = await ask('GET', '/api/v1/nodes/node1');
  const taints: { key: string; effect: string }[] = spec.taints ?? [];
  const found = status.conditions.find(({ type }: { type: string }) => type === 'NetworkUnavailable');
  return { taints: taints.map(({ key, effect }) => `${key}:${effect}`), reason: found?.reason };
}

const tainted = (wanted: boolean) =>
  until(`the taint of node1 ${wanted ? 'comes' : 'goes'}`, async () =>
    (await node1()).taints.includes(TAINT) === wanted ? true : undefined,
  );

// Only where Sluice gives out the addresses can it run out of them; the trick below is for IPv4 alone.
test.skipIf(cni !== 'sluice' || !families.includes('4'))(
  'a node without a free address takes no new pods, keeps those that run, and takes some as soon as one is free',
  async () => {
    const client = await place.pod('client', { node: 'node2' });
    const first = await place.pod('first', { node: 'node1' });
    const four = first.addresses.find(address => address.includes('.'))!;
    await remove(first);
    await occupy('node1', four);
    const last = await place.pod('last', { node: 'node1' });
    await tainted(true);
    expect((await node1()).reason).toBe('PodAddressesExhausted');

    const elsewhere = await place.pod('elsewhere');
    expect(elsewhere.node).toBe('node2');
    expect(await settles(client, endpoint(last.address), 'open')).toBe('open');

    await remove(last);
    await tainted(false);
    expect((await node1()).reason).toBe('PodNetworkReady');
  },
);
