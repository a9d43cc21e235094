/**
 * What a rolling update of the agents costs those who talk meanwhile, and the handover of the start gate: how long each
 * node's containerd was without an agent that it asks, by its own log.
 *
 *     scripts/e2e upgrade [ROUNDS]
 */
import { kubectl, nodes, within } from '../specs/support/cluster.ts';
import { shop } from '../specs/support/shop.ts';
import { uninterrupted } from '../specs/support/telephone.ts';
import { percentiles } from './percentiles.ts';

const [rounds = 5] = process.argv.slice(2).map(Number);

const place = await shop('upgrade-measure');
const handovers: number[] = [];
const updates: number[] = [];
for (let round = 0; round < rounds; round++) {
  const startMs = performance.now();
  await place.undisturbed(() => uninterrupted(place.web, place.db, update));
  updates.push(performance.now() - startMs);
  for (const node of nodes) handovers.push(await handoverOf(node));
}
console.log(`${rounds} rolling updates: 0 wrong verdicts, 0 packets lost, no connection ended`);
console.log(`  an update of ${nodes.length} nodes, ms:                      ${percentiles(updates)}`);
console.log(`  a node's runtime without a gate meanwhile, ms:  ${percentiles(handovers)}`);
await place.leave();
process.exit();

async function update(): Promise<void> {
  await kubectl('-n', 'sluice', 'rollout', 'restart', 'daemonset/sluice');
  await kubectl('-n', 'sluice', 'rollout', 'status', 'daemonset/sluice', '--timeout=180s');
}

/** Of the last one: from the end of one agent's connection to the moment when the next one's is in use. */
async function handoverOf(node: string): Promise<number> {
  const log = await within(
    node,
    'grep',
    '-E',
    'plugin .*90-sluice.* (closed|connected and)',
    '/var/log/containerd.log',
  );
  const [closed, connected] = log.trim().split('\n').slice(-2);
  if (!closed?.includes('closed') || !connected?.includes('connected and'))
    throw new Error(`${node}: no handover at the end of containerd's log:\n${log}`);
  return timeOf(connected) - timeOf(closed);
}

function timeOf(line: string): number {
  return Date.parse(/time="([^"]+)"/.exec(line)![1]!);
}
