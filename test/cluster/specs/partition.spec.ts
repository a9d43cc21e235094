import { afterAll, beforeAll, expect, test } from 'vitest';
import { remove } from './support/api.ts';
import { command } from './support/cluster.ts';
import { type Shop, shop } from './support/shop.ts';
import { endpoint, type RunningPod, settles } from './support/site.ts';
import { type Expected, undisturbed } from './support/undisturbed.ts';

let place: Shop;
/** The same again with the nodes swapped, by the same labels and the same policy. */
let near: { db: RunningPod; web: RunningPod; stranger: RunningPod };

beforeAll(async () => {
  place = await shop('partition');
  near = {
    db: await place.pod('db2', { node: 'node2', labels: { name: 'db' } }),
    web: await place.pod('web1', { node: 'node1', labels: { name: 'web' } }),
    stranger: await place.pod('stranger1', { node: 'node1' }),
  };
  expect(await settles(near.web, endpoint(near.db.address), 'open')).toBe('open');
});
afterAll(async () => {
  await nodesSeparated(false);
  await cut('node1', false);
});

/** A port of the bridge that is isolated reaches those that are not: the API server. */
async function nodesSeparated(isolated: boolean): Promise<void> {
  for (const node of ['node1', 'node2']) {
    await link(node, 'type', 'bridge_slave', 'isolated', isolated ? 'on' : 'off');
  }
}

const cut = (node: string, off: boolean) => link(node, ...(off ? ['nomaster'] : ['master', 'nodes']));

/** The node's end in the network of the nodes, which is where specs run. */
async function link(node: string, ...words: string[]): Promise<void> {
  const { code, stderr } = await command('ip', 'link', 'set', node, ...words);
  if (code !== 0) throw new Error(`ip link set ${node} ${words.join(' ')}: ${stderr}`);
}

/** Within each node what policy says; and nobody gets in from the other who never might. */
const withinNodes = (): Expected[] => [
  { from: near.web, to: place.db, wanted: 'open' },
  { from: near.stranger, to: place.db, wanted: 'closed' },
  { from: place.web, to: near.db, wanted: 'open' },
  { from: place.stranger, to: near.db, wanted: 'closed' },
  { from: place.stranger, to: place.db, wanted: 'closed' },
];

test('two nodes that lose each other: each keeps policy within itself, and follows changes', async () => {
  await undisturbed(withinNodes(), async () => {
    await nodesSeparated(true);
    expect(await settles(place.web, endpoint(place.db.address), 'closed')).toBe('closed');

    const closed = await place.policy('strangers', {
      podSelector: { matchExpressions: [{ key: 'name', operator: 'In', values: ['stranger', 'stranger1'] }] },
      policyTypes: ['Ingress'],
    });
    expect(await settles(place.web, endpoint(place.stranger.address), 'closed')).toBe('closed');
    expect(await settles(near.web, endpoint(near.stranger.address), 'closed')).toBe('closed');
    await remove(closed);
    expect(await settles(near.web, endpoint(near.stranger.address), 'open')).toBe('open');

    await nodesSeparated(false);
    expect(await settles(place.web, endpoint(place.db.address), 'open')).toBe('open');
  });
});

test('a node that loses everybody keeps its policy, and takes in what changed meanwhile when it is back', async () => {
  let late: RunningPod;
  await undisturbed(withinNodes(), async () => {
    await cut('node1', true);
    const webs = { podSelector: { matchLabels: { name: 'web' } }, policyTypes: ['Ingress'] };
    await place.policy('webs', webs);
    late = await place.pod('late', { node: 'node2', labels: { name: 'web' } });
    expect(await settles(place.stranger, endpoint(place.web.address), 'closed')).toBe('closed');
    // The policy of `webs` is not there yet: node1 has not read it, and keeps what it has.
    await undisturbed([{ from: near.stranger, to: near.web, wanted: 'open' }], async () => {});

    await cut('node1', false);
    // Each watch is a connection of its own, and goes on when the API server sends what it could not: by and by.
    const hears = (from: RunningPod, to: RunningPod, wanted: 'open' | 'closed') =>
      settles(from, endpoint(to.address), wanted, 'tcp', 60_000);
    expect(await hears(near.stranger, near.web, 'closed')).toBe('closed');
    expect(await hears(late, place.db, 'open')).toBe('open');
  });
});
