/** A zone whose name server floods, rotates and lies, asked by a pod of one tenant: what it costs the pod of another. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { sluice } from '../../support/agent/sluice.ts';
import { HOSTS, SLOW } from '../../support/names/ground.ts';
import { hearingGround } from './hearingground.ts';

/** A connection may take long on a busy machine: that its first packet was lost is counted apart. */
const PATIENCE_MS = 10_000 * SLOW;
const ANSWERS = 20_000;
const OLD = Array.from({ length: 20 }, (_, i) => `n${1 + i}.t.example`);
const FRESH = Array.from({ length: 200 }, (_, i) => `n${500 + i}.t.example`);

const ground = hearingGround();

/** Of the node's agent, in one line. */
function status(): string {
  const { stdout } = inNamespace(ground.nodePath, () =>
    sluice('status', '--socket', join(ground.folder, 'sluice.sock')),
  );
  return stdout.replaceAll(/\s+/g, ' ');
}

const addressesOf = (host: keyof typeof HOSTS) =>
  ground.elements().filter(element => element.startsWith(`${HOSTS[host][0]} . `));

test(
  `C57: ${ANSWERS} answers to one pod, each with twenty addresses, take nothing from another tenant’s`,
  async () => {
    expect((await ground.visit({ names: OLD })).connected).toEqual(OLD);
    const flooded = ground.flooded(2);
    const floods = Promise.all([
      ground.visit({ names: [`f${ANSWERS}.t.example`], patienceMs: 4_000 }, 'mallory'),
      ground.visit({ names: [`f${ANSWERS}.t.example`], patienceMs: 4_000, port: 4_321 }, 'mallory'),
    ]);
    // Each of these waits in the same queue, and connects as soon as it is answered.
    const { connected, lost, unanswered } = await ground.visit({
      names: FRESH,
      patienceMs: PATIENCE_MS,
    });
    expect({ connected: connected.length, lost, unanswered }).toEqual({
      connected: 200,
      lost: 0,
      unanswered: 0,
    });
    expect((await floods).map(({ unanswered: none }) => none)).toEqual([0, 0]);
    // What the kernel lists while elements come and go is of no one moment.
    await flooded;
    await ground.read('n800.t.example');
    const learnt = addressesOf('mallory').length;
    expect(learnt).toBeGreaterThan(100); // it was heard
    expect(learnt).toBeLessThanOrEqual(1_000); // of one name
    for (let i = 1; i <= OLD.length; i++) expect(ground.isLearnt(`10.98.0.${i}`)).toBe(true);
    expect(status()).toMatch(/[1-9]\d* went on unread because their pod or its namespace had more/);
  },
  300_000 * SLOW,
);

test(
  'C57: names without end fill what a pod may have, and no more; the other tenant’s are all there',
  async () => {
    const before = addressesOf('web');
    const names = Array.from({ length: 4_600 }, (_, i) => `r${3 * i}.t.example`);
    for (let from = 0; from < names.length; from += 2_300)
      await ground.visit({ names: names.slice(from, from + 2_300), patienceMs: 1 }, 'mallory');
    expect(addressesOf('mallory').length).toBeLessThanOrEqual(4_096);
    expect(addressesOf('mallory').length).toBeGreaterThan(3_000);
    expect(addressesOf('web')).toEqual(expect.arrayContaining(before));
    expect((await ground.visit({ names: ['n990.t.example'] })).connected).toEqual(['n990.t.example']);
  },
  600_000 * SLOW,
);

test('C42, C56: lies tell nothing: another’s name, the metadata service, an empty answer, a failure, no such name', async () => {
  const names = ['o701.t.example', 'l702.t.example', 'x703.t.example', 's704.t.example', 'q705.t.example'];
  const { unanswered, connected } = await ground.visit({ names, patienceMs: 200 });
  expect({ unanswered, connected }).toEqual({ unanswered: 0, connected: [] });
  expect(ground.isLearnt('169.254.169.254')).toBe(false);
  expect(ground.isLearnt('10.98.2.189')).toBe(false); // that of o701
});

test('C41: a name that rotates is open at each of its addresses, those of earlier answers too', async () => {
  const { connected, lost } = await ground.visit({ names: new Array<string>(10).fill('r8000.t.example') });
  expect({ connected: connected.length, lost }).toEqual({ connected: 10, lost: 0 });
});
