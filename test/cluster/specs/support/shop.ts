/** Two pods that may talk and one that may not, on two nodes, under probers that see every wrong verdict. */
import { expect } from 'vitest';
import type { Wanted } from './prober.ts';
import { endpoint, type RunningPod, type Site, settles, site } from './site.ts';
import { undisturbed } from './undisturbed.ts';

export interface Shop extends Site {
  readonly db: RunningPod;
  readonly web: RunningPod;
  readonly stranger: RunningPod;
  /**
   * Opens connections all the time while `action` runs: what policy allows is open, and what it denies is closed, or
   * turns where policy begins or ends to be enforced.
   */
  undisturbed(action: () => Promise<unknown>, denied?: Wanted): Promise<void>;
}

/** `shop/db` lets `web` in and nobody else; both others are on the other node. */
export async function shop(name: string, dbNode?: string, otherNode?: string): Promise<Shop> {
  const place = await openShop(name, dbNode, otherNode);
  const db = endpoint(place.db.address);
  expect(await settles(place.stranger, db, 'closed')).toBe('closed');
  expect(await settles(place.web, db, 'open')).toBe('open');
  return place;
}

/** The same where nobody need enforce its policy yet. */
export async function openShop(name: string, dbNode = 'node1', otherNode = 'node2'): Promise<Shop> {
  const place = await site(name);
  const db = await place.pod('db', { node: dbNode });
  const web = await place.pod('web', { node: otherNode });
  const stranger = await place.pod('stranger', { node: otherNode });
  await place.policy('db', {
    podSelector: { matchLabels: { name: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { name: 'web' } } }] }],
  });
  const expected = (denied: Wanted) =>
    [
      { from: web, to: db, wanted: 'open' },
      { from: stranger, to: db, wanted: denied },
    ] as const;
  const watched = (action: () => Promise<unknown>, denied: Wanted = 'closed') =>
    undisturbed(expected(denied), action);
  return { ...place, db, web, stranger, undisturbed: watched };
}
