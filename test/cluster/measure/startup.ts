/**
 * How long a new pod can do what a standing default deny forbids. The first process of its container opens one
 * connection after the other to a pod that would answer; the window is from the start of the first attempt to that
 * of the first one that is denied. A pod whose first attempt is denied has none.
 *
 * Agents are killed so many times meanwhile, those of the nodes in turn; their kubelets start them again.
 *
 *     scripts/e2e startup [PODS] [AT ONCE] [KILLS]
 */
import { remove } from '../specs/support/api.ts';
import { nodes, sleep } from '../specs/support/cluster.ts';
import { eagerPod, firstAttempts } from '../specs/support/eager.ts';
import { agents, endpoint, type Site, site } from '../specs/support/site.ts';
import { percentiles } from './percentiles.ts';

const [pods = 50, atOnce = 1, kills = 0] = process.argv.slice(2).map(Number);

const target = await site('startup-target');
const server = await target.pod('server', { node: 'node1' });
const place = await site('startup');
await place.policy('deny', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });

const windows: number[] = [];
let killed = 0;
for (let i = 0; i < pods; i += atOnce) {
  const killing = killed < (kills * i) / pods ? killAgent(nodes[killed++ % nodes.length]!) : undefined;
  const names = Array.from({ length: Math.min(atOnce, pods - i) }, (_, k) => `pod-${i + k}`);
  windows.push(
    ...(await Promise.all(names.map((name, k) => windowOf(place, name, nodes[(i + k) % nodes.length]!)))),
  );
  await killing;
}
const without = windows.filter(ms => ms === 0).length;
console.log(
  `${pods} pods under a standing default deny, ${atOnce} at once, agents killed ${killed} times: ${without} were closed from their first packet`,
);
console.log(`  open for, ms:  ${percentiles(windows)}`);
await place.leave();
await target.leave();
process.exit();

/** At some moment while pods start. */
async function killAgent(node: string): Promise<void> {
  await sleep(Math.random() * 2000);
  const { pid } = (await agents()).get(node)!;
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

/** In milliseconds. */
async function windowOf({ namespace }: Site, name: string, node: string): Promise<number> {
  const pod = await eagerPod({ namespace, name, node, to: endpoint(server.address) });
  const attempts = await firstAttempts(pod);
  await remove(pod);
  return attempts.find(({ open }) => !open)!.startMs - attempts[0]!.startMs;
}
