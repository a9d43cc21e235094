/** From the recorded commit of the last layout to today and back, with traffic: see previous.sh. */
import { beforeAll, expect, test } from 'vitest';
import { cni, kubectl, nodes, until } from './support/cluster.ts';
import { eagerPod, firstAttempts } from './support/eager.ts';
import { policyIsFollowed } from './support/followed.ts';
import { apply, type Release, rollOut } from './support/release.ts';
import { type Shop, shop } from './support/shop.ts';
import { agents, endpoint, type Outcome, settles } from './support/site.ts';
import { sluice } from './support/sluice.ts';
import { uninterrupted } from './support/telephone.ts';
import { type Expected, undisturbed } from './support/undisturbed.ts';

let place: Shop;
/** Beside those of the shop: denied at the sender, and within one node. */
let flows: readonly Expected[];
beforeAll(async () => {
  place = await shop('upgrade');
  const { web, db } = place;
  const eager = { podSelector: { matchLabels: { eager: 'yes' } }, policyTypes: ['Egress'] };
  await place.policy('eager', eager);
  const mayOnlyDb = {
    podSelector: { matchLabels: { name: 'clerk' } },
    policyTypes: ['Egress'],
    egress: [{ to: [{ podSelector: { matchLabels: { name: 'db' } } }] }],
  };
  await place.policy('clerk', mayOnlyDb);
  const clerk = await place.pod('clerk', { node: db.node });
  const visitor = await place.pod('visitor', { node: db.node });
  flows = [
    { from: clerk, to: web, wanted: 'closed' },
    { from: clerk, to: db, wanted: 'closed' },
    { from: visitor, to: db, wanted: 'closed' },
    { from: visitor, to: web, wanted: 'open' },
  ];
  for (const { from, to, wanted } of flows)
    expect(await settles(from, endpoint(to.address), wanted as Outcome)).toBe(wanted);
  return () => rollOut('today'); // whatever became of the specs
});

const underTraffic = (action: () => Promise<unknown>) =>
  place.undisturbed(() => undisturbed(flows, () => uninterrupted(place.web, place.db, action)));

/** What runs on each node. */
async function releases(): Promise<readonly Release[]> {
  const running = await agents();
  return nodes.map(node => (running.get(node)!.image === TODAY ? 'today' : 'previous'));
}
const TODAY = 'sluice:0.1.0';

let started = 0;
/** Pods that start while the agents change find their rules in force all the same. */
async function startsClosed(release: Release): Promise<void> {
  const pods = await Promise.all(
    nodes.map(node => {
      const name = `eager-${release}-${++started}`;
      return eagerPod({ namespace: place.namespace, name, node, to: endpoint(place.web.address) });
    }),
  );
  for (const pod of pods) expect((await firstAttempts(pod)).filter(({ open }) => open)).toEqual([]);
}

async function rollOutUnderTraffic(release: Release): Promise<void> {
  const before = await agents();
  await underTraffic(() => Promise.all([rollOut(release), startsClosed(release)]));
  const after = await agents();
  for (const node of nodes) expect(after.get(node)!.name).not.toBe(before.get(node)!.name);
  await policyIsFollowed(place);
}

async function replaceAgent(node: string): Promise<void> {
  const { name } = (await agents()).get(node)!;
  await kubectl('-n', 'sluice', 'delete', 'pod', name);
  await until(`the next agent of ${node} is ready`, async () => {
    const next = (await agents()).get(node);
    return next?.ready === true && next.name !== name ? true : undefined;
  });
}

test.skipIf(cni === 'sluice')(
  'an upgrade from the recorded release and back: not one wrong verdict, not one packet lost of what is allowed',
  async () => {
    await rollOut('previous');
    expect(await releases()).toEqual(nodes.map(() => 'previous'));
    await rollOutUnderTraffic('today');
    expect(await releases()).toEqual(nodes.map(() => 'today'));
    await rollOutUnderTraffic('previous');
    expect(await releases()).toEqual(nodes.map(() => 'previous'));
  },
);

test.skipIf(cni === 'sluice')(
  'a canary: one node has the next release, the others follow when somebody has looked',
  async () => {
    const [first, ...others] = nodes;
    await rollOut('previous');
    await underTraffic(async () => {
      await apply('today', 'OnDelete');
      await replaceAgent(first!);
    });
    expect(await releases()).toEqual(['today', ...others.map(() => 'previous')]);
    expect((await sluice(first!, 'status')).code).toBe(0);
    await policyIsFollowed(place);
    await underTraffic(async () => {
      for (const node of others) await replaceAgent(node);
    });
    expect(await releases()).toEqual(nodes.map(() => 'today'));
    await policyIsFollowed(place);
  },
);

test.skipIf(cni === 'sluice')(
  'a canary that somebody takes back: its node has the release before again',
  async () => {
    const [first] = nodes;
    await rollOut('previous');
    await underTraffic(async () => {
      await apply('today', 'OnDelete');
      await replaceAgent(first!);
      await apply('previous', 'OnDelete');
      await replaceAgent(first!);
    });
    expect(await releases()).toEqual(nodes.map(() => 'previous'));
    await policyIsFollowed(place);
  },
);
