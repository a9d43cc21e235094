import { afterAll, beforeAll, expect, test } from 'vitest';
import { occupy, vacate } from './support/addresses.ts';
import { call, remove } from './support/api.ts';
import { cni, families, until, within } from './support/cluster.ts';
import { Prober, wrong } from './support/prober.ts';
import { endpoint, PORT, type RunningPod, type Site, settles, site } from './support/site.ts';

let place: Site;
let client: RunningPod;
beforeAll(async () => {
  place = await site('reuse');
  client = await place.pod('client', { node: 'node2' });
  await place.policy('deny', { podSelector: { matchLabels: { closed: 'yes' } }, policyTypes: ['Ingress'] });
});
afterAll(async () => {
  if (cni === 'sluice') await vacate('node1');
});

/** The address that comes back: where Sluice gives them, an IPv4 one, since an IPv6 network is never used up. */
const addressOf = ({ addresses, address }: RunningPod) =>
  cni === 'sluice' ? addresses.find(text => !text.includes(':'))! : address;

/** That this address is the next that the node gives to a pod. */
function giveAgain(node: string, address: string): Promise<void> {
  return cni === 'sluice' ? leaveOnly(node, address) : countFrom(node, address);
}

/** The plugin host-local counts on from the last address that it gave: let it begin before this one. */
async function countFrom(node: string, address: string): Promise<void> {
  const last = address.replace(/[0-9a-f]+$/, part => {
    const radix = address.includes(':') ? 16 : 10;
    return (Number.parseInt(part, radix) - 1).toString(radix);
  });
  const folder = '/run/cni-ipam/pods';
  const given = `while [ -e ${folder}/${address} ]; do sleep 0.1; done`; // until kubelet has undone its network
  await within(node, 'sh', '-c', `${given}; echo -n ${last} >${folder}/last_reserved_ip.0`);
}

/** Sluice gives the longest unused one: let it be the only one. */
async function leaveOnly(node: string, address: string): Promise<void> {
  const isGiven = async () => (await within(node, 'ip', 'route', 'show', address)).includes('dev sl');
  await until(`${address} is free`, async () => ((await isGiven()) ? undefined : true));
  await occupy(node, address);
}

async function replace(old: RunningPod, name: string, labels: Record<string, string>): Promise<RunningPod> {
  await remove(old);
  await until(`${old.name} is gone`, async () => {
    const { status } = await call('GET', `/api/v1/namespaces/${old.namespace}/pods/${old.name}`);
    return status === 404 ? true : undefined;
  });
  await giveAgain(old.node, addressOf(old));
  const pod = await place.pod(name, { node: old.node, labels });
  if (cni === 'sluice') await vacate(old.node);
  expect(addressOf(pod)).toBe(addressOf(old));
  return pod;
}

test.skipIf(cni === 'sluice' && !families.includes('4'))(
  'a pod that gets the address of another has its own policy, not that of the other',
  async () => {
    const closed = await place.pod('first', { node: 'node1', labels: { closed: 'yes' } });
    expect(await settles(client, endpoint(addressOf(closed)), 'closed')).toBe('closed');

    const open = await replace(closed, 'second', {});
    expect(await settles(client, endpoint(addressOf(open)), 'open')).toBe('open');

    const again = await replace(open, 'third', { closed: 'yes' });
    const prober = await Prober.start(client, {
      flows: [{ address: addressOf(again), port: PORT }],
      intervalMs: 10,
      limitMs: 500,
    });
    await prober.another(100);
    expect(wrong(await prober.stop(), 0, 'closed'), 'since the pod is ready').toEqual([]);
  },
);
