/**
 * How long a policy takes from the request that creates it to the first connection between two real pods, on two
 * nodes, that feels it; and from its deletion. A prober in the client pod opens a connection every 2 ms and waits
 * 30 ms for each. Once alone, and once beside a thousand policies that select nobody.
 *
 *     scripts/e2e effective [ROUNDS] [OTHERS...]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type KubeObject, remove } from '../specs/support/api.ts';
import { Prober } from '../specs/support/prober.ts';
import { networkPolicy, PORT, type Site, site } from '../specs/support/site.ts';
import { agentsCpu } from './cpu.ts';
import { percentiles } from './percentiles.ts';

const [rounds = 200, ...others] = process.argv.slice(2).map(Number);
const LIMIT_MS = 30;
const SELECTORS = 50;
const GIVE_UP_MS = 60_000;

interface Times {
  readonly answeredMs: number;
  readonly effectiveMs: number;
}

for (const count of others.length > 0 ? others : [0, 1000]) {
  const place = await site('effective');
  await addOthers(place, count);
  const server = await place.pod('server', { node: 'node1' });
  const client = await place.pod('client', { node: 'node2' });
  const flows = [{ address: server.address, port: PORT }];
  const prober = await Prober.start(client, { flows, intervalMs: 2, limitMs: LIMIT_MS });
  const created: Times[] = [];
  const deleted: Times[] = [];
  const deny = { podSelector: { matchLabels: { name: 'server' } }, policyTypes: ['Ingress'] };
  const policy = networkPolicy(place.namespace, 'deny', deny);
  const cpuBefore = await agentsCpu();
  for (let round = 0; round < rounds; round++) {
    created.push(await measure(prober, () => create(policy), false));
    deleted.push(await measure(prober, () => remove(policy), true));
  }
  const cpu = (await agentsCpu()) - cpuBefore;
  prober.kill();
  console.log(`${rounds} rounds beside ${count} other policies, ms:`);
  tell('created, until denied', created);
  tell('deleted, until allowed', deleted);
  console.log(`  ${2 * rounds} changes cost the agents of all nodes ${cpu.toFixed(1)} s of CPU`);
  await place.leave();
}
process.exit();

async function measure(prober: Prober, act: () => Promise<unknown>, open: boolean): Promise<Times> {
  await sleep(100 + Math.random() * 200);
  prober.attempts.length = 0;
  const startMs = performance.timeOrigin + performance.now();
  await act();
  const answeredMs = performance.timeOrigin + performance.now() - startMs;
  const first = () =>
    prober.attempts
      .filter(attempt => attempt.startMs >= startMs && attempt.open === open)
      .reduce((least, attempt) => Math.min(least, attempt.startMs), Number.POSITIVE_INFINITY);
  const deadline = performance.now() + GIVE_UP_MS;
  while (first() === Number.POSITIVE_INFINITY) {
    if (performance.now() > deadline) throw new Error(`not effective within ${GIVE_UP_MS} ms`);
    await sleep(5);
  }
  await sleep(LIMIT_MS + 10); // one that began earlier may be told later
  return { answeredMs, effectiveMs: first() - startMs };
}

async function addOthers({ namespace }: Site, count: number): Promise<void> {
  const policies: KubeObject[] = Array.from({ length: count }, (_, i) => {
    const podSelector = { matchLabels: { group: `g${i % SELECTORS}` } };
    const ingress = [{ from: [{ podSelector: { matchLabels: { peer: `p${i}` } } }], ports: [{ port: 80 }] }];
    return networkPolicy(namespace, `other-${i}`, { podSelector, ingress });
  });
  for (let i = 0; i < count; i += 20) await Promise.all(policies.slice(i, i + 20).map(create));
}

function tell(what: string, times: readonly Times[]): void {
  console.log(`  ${what.padEnd(24)} request → connection  ${percentiles(times.map(t => t.effectiveMs))}`);
  console.log(
    `  ${''.padEnd(24)} answer → connection   ${percentiles(times.map(t => t.effectiveMs - t.answeredMs))}`,
  );
}
