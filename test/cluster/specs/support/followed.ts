import { expect } from 'vitest';
import { remove } from './api.ts';
import type { Shop } from './shop.ts';
import { endpoint, settles } from './site.ts';

/** The agents are at work: what policy says now is what connections meet, on each node. */
export async function policyIsFollowed({ db, web, stranger, policy }: Shop): Promise<void> {
  const only = { podSelector: { matchLabels: { name: 'web' } }, policyTypes: ['Ingress'] };
  const closed = await policy('web', only);
  expect(await settles(stranger, endpoint(web.address), 'closed')).toBe('closed');
  await remove(closed);
  expect(await settles(stranger, endpoint(web.address), 'open')).toBe('open');
  const open = await policy('db-too', { podSelector: { matchLabels: { name: 'db' } }, ingress: [{}] });
  expect(await settles(stranger, endpoint(db.address), 'open')).toBe('open');
  await remove(open);
  expect(await settles(stranger, endpoint(db.address), 'closed')).toBe('closed');
}
