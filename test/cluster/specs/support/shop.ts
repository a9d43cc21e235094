/** Two pods that may talk and one that may not, on two nodes, under a prober that sees every wrong verdict. */
import { expect } from 'vitest';
import { Prober, wrong } from './prober.ts';
import { endpoint, PORT, type RunningPod, type Site, settles, site } from './site.ts';

export interface Shop extends Site {
  readonly db: RunningPod;
  readonly web: RunningPod;
  readonly stranger: RunningPod;
  /** Opens connections all the time while `action` runs; each has to meet what policy says. */
  undisturbed(action: () => Promise<void>): Promise<void>;
}

const INTERVAL_MS = 10;
// A SYN that was dropped is sent again after a second: a later answer would hide it.
const LIMIT_MS = 950;

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
  return { ...place, db, web, stranger, undisturbed: action => undisturbed(db, web, stranger, action) };
}

async function undisturbed(
  db: RunningPod,
  web: RunningPod,
  stranger: RunningPod,
  action: () => Promise<void>,
) {
  const flows = db.addresses.map(address => ({ address, port: PORT }));
  const orders = { flows, intervalMs: INTERVAL_MS, limitMs: LIMIT_MS };
  const probers = [await Prober.start(web, orders), await Prober.start(stranger, orders)] as const;
  try {
    await action();
    const [allowed, denied] = [await probers[0].stop(), await probers[1].stop()];
    for (const flow of flows.keys()) {
      expect(wrong(allowed, flow, 'open'), 'web -> db').toEqual([]);
      expect(wrong(denied, flow, 'closed'), 'stranger -> db').toEqual([]);
    }
    const tried = Math.min(allowed.length, denied.length);
    expect(tried, 'connections were opened all the time').toBeGreaterThan(100);
  } finally {
    for (const prober of probers) prober.kill();
  }
}
