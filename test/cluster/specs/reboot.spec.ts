import { afterAll, beforeAll, expect, test } from 'vitest';
import { type KubeObject, read } from './support/api.ts';
import { reboot, until } from './support/cluster.ts';
import { Prober } from './support/prober.ts';
import {
  agents,
  connection,
  endpoint,
  type RunningPod,
  running,
  type Site,
  settles,
  site,
} from './support/site.ts';

/** Where `db` serves, and nobody else: who answers there is `db`, whatever its address is. */
const DB_PORT = 8081;
let place: Site;
let db: RunningPod;
let other: RunningPod;
let web: RunningPod;
let stranger: RunningPod;

beforeAll(async () => {
  place = await site('reboot');
  other = await place.pod('other', { node: 'node1' });
  db = await place.pod('db', { node: 'node1', port: DB_PORT });
  web = await place.pod('web', { node: 'node2' });
  stranger = await place.pod('stranger', { node: 'node2' });
  await place.policy('db', {
    podSelector: { matchLabels: { name: 'db' } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { name: 'web' } } }] }],
  });
  expect(await settles(stranger, endpoint(db.address, DB_PORT), 'closed')).toBe('closed');
});
afterAll(() => place.leave());

/** The first addresses of the pod networks of node1: host-local begins there again, its notes are in /run. */
function addressesOfNode1(): string[] {
  const numbers = Array.from({ length: 10 }, (_, i) => i + 2);
  return db.addresses.flatMap(address => {
    const network = address.replace(/[0-9a-f]+$/, '');
    return numbers.map(n => `${network}${n.toString(address.includes(':') ? 16 : 10)}`);
  });
}

const restartsOf = async (pod: KubeObject): Promise<number> =>
  (await read(pod)).status.containerStatuses[0].restartCount;

/** Waits until it runs again, and is ready. */
async function again(pod: RunningPod, before: number): Promise<RunningPod> {
  await until(`${pod.name} runs again`, async () => ((await restartsOf(pod)) > before ? true : undefined));
  return running(pod);
}

test('a node that reboots: its pods come back, whatever their addresses, and policy with them', async () => {
  const before = {
    agent: (await agents()).get('node1')!.restarts,
    db: await restartsOf(db),
    other: await restartsOf(other),
  };
  const flows = addressesOfNode1().map(address => ({ address, port: DB_PORT }));
  const prober = await Prober.start(stranger, { flows, intervalMs: 50, limitMs: 950 });
  try {
    await reboot('node1');
    await until(
      'the agent of node1 is ready',
      async () => {
        const { ready, restarts } = (await agents()).get('node1')!;
        return ready && restarts > before.agent ? true : undefined;
      },
      120_000,
    );
    const readyMs = Date.now();
    db = await again(db, before.db);
    other = await again(other, before.other);

    expect(await settles(web, endpoint(db.address, DB_PORT), 'open')).toBe('open');
    expect(await settles(stranger, endpoint(other.address), 'open')).toBe('open');
    expect(await connection(other, endpoint(web.address))).toBe('open');
    expect(await connection(db, endpoint(web.address))).toBe('closed');
    const attempts = await prober.stop();
    const wrong = attempts.filter(({ open, startMs }) => open && startMs >= readyMs);
    expect(wrong, 'stranger -> db').toEqual([]);
    expect(attempts.length).toBeGreaterThan(100);
  } finally {
    prober.kill();
  }
});
