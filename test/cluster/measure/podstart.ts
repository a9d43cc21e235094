/**
 * From the request that creates a pod to its first connection that policy allows, with Sluice and without, in turns.
 * The pod is selected by policy in both directions, so with Sluice it waits at the start gate.
 *
 *     scripts/e2e podstart [PODS] [TURNS]
 */

import { percentile } from '../../../bench/row.ts';
import { create } from '../specs/support/api.ts';
import { kubectl, nodes, until, within } from '../specs/support/cluster.ts';
import { endpoint, site } from '../specs/support/site.ts';
import { percentiles } from './percentiles.ts';

const [pods = 20, turns = 3] = process.argv.slice(2).map(Number);
const IMAGE = 'registry.k8s.io/e2e-test-images/agnhost:2.63.0';

const target = await site('podstart-target');
const server = await target.pod('server', { node: 'node1' });
const place = await site('podstart');
await place.policy('allow', { podSelector: {}, policyTypes: ['Ingress', 'Egress'], egress: [{}] });

const taken = { with: [] as number[], without: [] as number[] };
let made = 0;
try {
  for (let turn = 0; turn < turns; turn++) {
    taken.with.push(...(await startPods()));
    await stopSluice();
    taken.without.push(...(await startPods()));
    await startSluice();
  }
} finally {
  await startSluice();
  await place.leave();
  await target.leave();
}
const middle = (times: readonly number[]) => percentile(times, 50);
const more = (middle(taken.with) / middle(taken.without) - 1) * 100;
console.log(
  `${pods * turns} pods each, one at a time, from the request to the first allowed connection, ms:`,
);
console.log(`  with Sluice     ${percentiles(taken.with)}`);
console.log(`  without         ${percentiles(taken.without)}`);
console.log(`  p50 with Sluice: ${more >= 0 ? '+' : ''}${more.toFixed(1)} %`);
process.exit();

async function startPods(): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < pods; i++) times.push(await startOf(`pod-${made++}`, nodes[i % nodes.length]!));
  return times;
}

/** In milliseconds. */
async function startOf(name: string, nodeName: string): Promise<number> {
  const to = endpoint(server.address);
  const script = `until /agnhost connect ${to} --timeout=50ms 2>/dev/null; do :; done; echo connected $EPOCHREALTIME`;
  const { namespace } = place;
  const startMs = Date.now();
  await create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      nodeName,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'prober', image: IMAGE, command: ['/bin/bash', '-c', script] }],
    },
  });
  const log = await until(`${name} has connected`, async () => {
    const text = await kubectl('-n', namespace, 'logs', name).catch(() => '');
    return text.includes('connected') ? text : undefined;
  });
  await kubectl('-n', namespace, 'delete', 'pod', name, '--wait');
  return Number(log.trim().split(' ').at(-1)) * 1000 - startMs;
}

/** The agents go, and their rules, which would outlive them. */
async function stopSluice(): Promise<void> {
  await select({ 'sluice-is-off': 'true' });
  await until('the agents have gone', async () => {
    const left = await kubectl('-n', 'sluice', 'get', 'pods', '-o', 'name');
    return left === '' ? true : undefined;
  });
  for (const node of nodes) await within(node, 'nft', 'delete table ip sluice; delete table ip6 sluice');
}

async function startSluice(): Promise<void> {
  await select({ 'sluice-is-off': null });
  await until('agents are wanted', async () => {
    const left = await kubectl('-n', 'sluice', 'get', 'pods', '-o', 'name');
    return left.trim().split('\n').length === nodes.length ? true : undefined;
  });
  await kubectl('-n', 'sluice', 'rollout', 'status', 'daemonset/sluice', '--timeout=120s');
}

async function select(nodeSelector: object): Promise<void> {
  const patch = { spec: { template: { spec: { nodeSelector } } } };
  await kubectl('-n', 'sluice', 'patch', 'daemonset', 'sluice', '-p', JSON.stringify(patch));
}
