/**
 * How long `helm install` takes until a policy that was there before is enforced on every node, the image being
 * present, and `helm uninstall` until no node has anything of it.
 *
 *     scripts/e2e install [ROUNDS]
 */
import { nodes, sleep } from '../specs/support/cluster.ts';
import {
  deleteManifests,
  installByHelm,
  installByKustomize,
  leftOn,
  uninstallByHelm,
  uninstallFromAllNodes,
} from '../specs/support/installs.ts';
import { connection, endpoint, type RunningPod, site } from '../specs/support/site.ts';
import { percentiles } from './percentiles.ts';

const [rounds = 3] = process.argv.slice(2).map(Number);

const place = await site('install-measure');
const closed = { podSelector: { matchLabels: { closed: 'yes' } }, policyTypes: ['Ingress'] };
await place.policy('closed', closed);
const stranger = await place.pod('stranger', { node: 'node1' });
const targets: RunningPod[] = [];
for (const node of nodes) targets.push(await place.pod(`on-${node}`, { node, labels: { closed: 'yes' } }));

await uninstallFromAllNodes();
await deleteManifests();
const installs: number[] = [];
const removals: number[] = [];
const commands: number[] = [];
for (let round = 0; round < rounds; round++) {
  installs.push(await took(() => Promise.all([installByHelm(), ...targets.map(enforced)])));
  const uninstalled = took(uninstallByHelm);
  removals.push(await took(() => Promise.all(nodes.map(clean))));
  commands.push(await uninstalled);
}
console.log(`${rounds} rounds on ${nodes.length} nodes, the image present, ms:`);
console.log(`  helm install → ready, and enforced on every node  ${percentiles(installs)}`);
console.log(`  helm uninstall → nothing left on any node         ${percentiles(removals)}`);
console.log(`  helm uninstall → the command has ended            ${percentiles(commands)}`);
await installByKustomize();
await place.leave();
process.exit();

async function enforced(target: RunningPod): Promise<void> {
  while ((await connection(stranger, endpoint(target.address))) === 'open');
}

async function clean(node: string): Promise<void> {
  while ((await leftOn(node)).length > 0) await sleep(100);
}

async function took(action: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await action();
  return performance.now() - startMs;
}
