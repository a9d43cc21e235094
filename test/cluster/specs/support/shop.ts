/** Two pods that may talk and one that may not, on two nodes, under probers that see every wrong verdict. */
import { expect } from 'vitest';
import { endpoint, type RunningPod, type Site, settles, site } from './site.ts';
import { undisturbed } from './undisturbed.ts';

export interface Shop extends Site {
  readonly db: RunningPod;
  readonly web: RunningPod;
  readonly stranger: RunningPod;
  /** Opens connections all the time while `action` runs; each has to meet what policy says. */
  undisturbed(action: () => Promise<unknown>): Promise<void>;
}

/** `shop/db` lets `web` in and nobody else; both others are on the other node. */
export async function shop(name: string, dbNode = 'node1', otherNode = 'node2'): Promise<Shop> {
  const place = await site(name);
  const db = await place.pod('db', { node: dbNode });
  const web = await place.pod('web', { node: otherNode });
  const stranger = await place.pod('stranger', { node: otherNode });
  await place.policy('db', {
    podSelector: { matchLabels: { name: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { name: 'web' } } }] }],
  });
  expect(await settles(stranger, endpoint(db.address), 'closed')).toBe('closed');
  expect(await settles(web, endpoint(db.address), 'open')).toBe('open');
  const expected = [
    { from: web, to: db, wanted: 'open' },
    { from: stranger, to: db, wanted: 'closed' },
  ] as const;
  return { ...place, db, web, stranger, undisturbed: action => undisturbed(expected, action) };
}
