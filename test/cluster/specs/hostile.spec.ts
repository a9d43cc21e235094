/** A tenant who does its worst in a namespace of its own, and a neighbour whose policy holds, and is in force at once. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, create, pathOf, read, remove } from './support/api.ts';
import { kubectl, sleep, until } from './support/cluster.ts';
import { Forger, type Frame, hardwareAddress, heardPorts, quotedPorts } from './support/forger.ts';
import {
  agents,
  endpoint,
  networkPolicy,
  type RunningPod,
  type Site,
  settles,
  site,
} from './support/site.ts';
import { undisturbed } from './support/undisturbed.ts';

let neighbour: Site;
let tenant: Site;
let db: RunningPod;
let friend: RunningPod;
let bad: RunningPod;
let worse: RunningPod;

beforeAll(async () => {
  [neighbour, tenant] = await Promise.all([site('neighbour'), site('tenant')]);
  [db, friend, bad, worse] = await Promise.all([
    neighbour.pod('db', { node: 'node1' }),
    neighbour.pod('friend', { node: 'node1' }),
    tenant.pod('bad', { node: 'node1' }),
    tenant.pod('worse', { node: 'node2' }),
  ]);
  await neighbour.policy('db', {
    podSelector: { matchLabels: { name: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { name: 'friend' } } }] }],
  });
  for (const pod of [bad, worse]) expect(await settles(pod, endpoint(db.address), 'closed')).toBe('closed');
  expect(await settles(friend, endpoint(db.address), 'open')).toBe('open');
});

let forgers: Forger[] = [];
afterAll(() => {
  for (const forger of forgers) forger.close();
});

test('a pod that writes every byte of what it sends is heard by nobody who is closed to it', async () => {
  forgers = await Promise.all([bad, friend].map(pod => Forger.of(pod)));
  const [forger, honest] = forgers as [Forger, Forger];
  const mac = await hardwareAddress(db);
  const frames: Frame[] = db.addresses.flatMap((to, family) => {
    const ways = [
      {},
      { mac },
      { mac: 'ff:ff:ff:ff:ff:ff' },
      { tags: [0x8100] },
      { mac, tags: [0x88a8, 0x8100] },
    ];
    const sources = [bad.addresses[family]!, friend.addresses[family]!, db.addresses[family]!];
    const linkLocal = to.includes(':') ? ['fe80::bad'] : ['169.254.0.9'];
    return [...sources, ...linkLocal].flatMap(from => ways.map(way => ({ from, to, ...way })));
  });
  const [first, last] = [20_000, 29_999];
  const heard = await heardPorts(db, last, () => {
    for (const [n, frame] of frames.entries()) forger.send(frame, first + n);
    honest.send({ from: friend.address, to: db.address }, last);
  });
  const arrived = frames.filter((_, n) => heard.has(first + n));
  expect(arrived).toEqual([]);
  expect(frames.length).toBeGreaterThanOrEqual(20);
});

test('kube-proxy, which rejects what goes to a Service without endpoints, tells nobody in whose name a pod sends there', async () => {
  const [forger, honest] = forgers as [Forger, Forger];
  const service = await neighbour.service('nobody', {
    ipFamilyPolicy: 'PreferDualStack',
    ports: [{ protocol: 'UDP', port: REJECTED }],
  });
  const { spec } = (await read(service)) as { spec: { clusterIPs: readonly string[] } };
  const to = (from: string) => spec.clusterIPs.find(ip => ip.includes(':') === from.includes(':'))!;
  const rejectsFriend = async () => {
    const [told] = await quotedPorts([friend], () => {
      for (const from of friend.addresses) honest.send({ from, to: to(from) }, REJECTED);
    });
    return told!.has(REJECTED) ? true : undefined;
  };
  await until('kube-proxy rejects what a pod sends to the Service', rejectsFriend);
  const claimed = [db, friend, worse];
  const told = await quotedPorts(claimed, () => {
    for (const { addresses } of claimed)
      for (const from of addresses) forger.send({ from, to: to(from) }, REJECTED);
  });
  expect(told.map(ports => [...ports])).toEqual(claimed.map(() => []));
});

/** Of a Service that no pod stands behind. */
const REJECTED = 7_181;

const HUGE = { podSelector: {}, policyTypes: ['Egress'] };
const networks = (count: number, edit: number) =>
  Array.from(
    { length: count },
    (_, i) => `10.${100 + (i >> 12)}.${(i >> 4) & 255}.${(i & 15) << 4}/${28 + ((i + edit) % 3)}`,
  );
const excepts = (count: number, edit: number) => ({
  ipBlock: { cidr: '10.0.0.0/8', except: networks(count, edit) },
});
const ports = (count: number) => Array.from({ length: count }, (_, i) => ({ port: 1 + 3 * i }));

/** By name, what the n-th edit of each policy is: as much as a budget lets through, more than that, and odd. */
const WORST: Readonly<Record<string, (edit: number) => object>> = {
  excepts: edit => ({ ...HUGE, egress: [{ to: [excepts(4900, edit)] }] }),
  rules: edit => ({
    ...HUGE,
    egress: networks(990, edit).map((cidr, i) => ({ to: [{ ipBlock: { cidr } }], ports: [{ port: 1 + i }] })),
  }),
  beyond: edit => ({ ...HUGE, egress: [{ ports: ports(15_000 + edit), to: [excepts(3, edit)] }] }),
  refused: edit => ({ ...HUGE, egress: [{ to: [excepts(41 + (edit % 3), 0)], ports: [{ port: 'web' }] }] }),
  'all-but': edit => ({
    podSelector: {},
    ingress: Array.from({ length: 200 }, (_, i) => ({
      from: [
        {
          namespaceSelector: {},
          podSelector: { matchExpressions: [{ key: 'name', operator: 'NotIn', values: [`x${i + edit}`] }] },
        },
      ],
    })),
  }),
};

/** Edits without end until it is stopped; `edits` is how many the API server has taken. */
function hostility(): { readonly edits: () => number; readonly stop: () => Promise<number> } {
  let isOver = false;
  let edits = 0;
  const put = async (name: string, spec: object) => {
    const policy = networkPolicy(tenant.namespace, name, spec);
    const { status } = await call('PUT', pathOf(policy), policy);
    if (status === 404) await create(policy);
    edits++;
  };
  // On a busy machine the API server may not answer in time, so that a policy may be missing: the tenant tries again.
  const again = async (work: Promise<unknown>) => {
    await work.catch((error: Error) => {
      if (!/no answer|hang up|ECONN|: 404 /.test(error.message)) throw error;
    });
  };
  const edit = async (name: string) => {
    for (let n = 0; !isOver; n++) {
      await again(put(name, WORST[name]!(n)));
      await sleep(100);
    }
  };
  const flood = async () => {
    for (let n = 0; !isOver; n++) {
      const name = `small-${n % 50}`;
      await again(put(name, { podSelector: {}, ingress: [{ ports: [{ port: 1 + (n % 1000) }] }] }));
      if (n % 3 === 0) await again(remove(networkPolicy(tenant.namespace, name, {})));
    }
  };
  const running = Promise.all([...Object.keys(WORST).map(edit), flood()]);
  return {
    edits: () => edits,
    stop: async () => {
      isOver = true;
      await running;
      return edits;
    },
  };
}

test('beside a tenant who edits the largest policies without end a neighbour’s holds, and its next is in force', async () => {
  const processes = async () =>
    [...(await agents()).values()].map(({ pid, restarts, ready }) => ({ pid, restarts, ready }));
  const before = await processes();
  const expected = [
    { from: friend, to: db, wanted: 'open' },
    { from: bad, to: db, wanted: 'closed' },
    { from: worse, to: db, wanted: 'closed' },
  ] as const;
  let edits = 0;
  await undisturbed(expected, async () => {
    const hostile = hostility();
    await until('the tenant is at work', async () => (hostile.edits() > 20 ? true : undefined));
    for (let round = 0; round < 4; round++) {
      expect(await settles(db, endpoint(friend.address), 'open')).toBe('open');
      const deny = await neighbour.policy('deny', {
        podSelector: { matchLabels: { name: 'friend' } },
        policyTypes: ['Ingress'],
      });
      expect(await settles(db, endpoint(friend.address), 'closed')).toBe('closed');
      await remove(deny);
    }
    edits = await hostile.stop();
  });
  expect(edits).toBeGreaterThan(50);
  expect(await processes()).toEqual(before);
});

test('the author of what is too large is told what and how much, and what it selects is closed until it is smaller', async () => {
  const told = await until('an Event of the policy', async () => {
    const { body } = await call('GET', `/api/v1/namespaces/${tenant.namespace}/events?limit=500`);
    return body.items.find(
      (event: { involvedObject: { name: string }; message: string }) =>
        event.involvedObject.name === 'beyond' && /are the most/.test(event.message),
    );
  });
  expect(told.message).toMatch(/has \S.* entries .*, and 5000 are the most; the policy isolates its pods/);
  const all = (...selection: string[]) =>
    kubectl('-n', tenant.namespace, 'delete', 'networkpolicies', ...selection);
  await all('--field-selector=metadata.name!=beyond');
  expect(await settles(bad, endpoint(friend.address), 'closed')).toBe('closed');
  await all('--all');
  expect(await settles(bad, endpoint(friend.address), 'open')).toBe('open');
});
