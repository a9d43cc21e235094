/**
 * What a rolling update of the agents costs those who talk meanwhile, within a release, from the last commit of the
 * previous layout of our tables to today, and back; and the handover of the start gate: how long each node's containerd
 * was without an agent that it asks, by its own log.
 *
 *     scripts/e2e upgrade [ROUNDS]
 */
import { kubectl, nodes, within } from '../specs/support/cluster.ts';
import { rollOut } from '../specs/support/release.ts';
import { shop } from '../specs/support/shop.ts';
import { uninterrupted } from '../specs/support/telephone.ts';
import { percentiles } from './percentiles.ts';

const [rounds = 5] = process.argv.slice(2).map(Number);

const UPDATES: readonly (readonly [string, () => Promise<void>])[] = [
  ['to the same release', restart],
  ['to the layout before', () => rollOut('previous')],
  ['from the layout before', () => rollOut('today')],
];

const place = await shop('upgrade-measure');
const handovers: number[] = [];
const updates = new Map<string, number[]>();
for (let round = 0; round < rounds; round++) {
  for (const [kind, update] of UPDATES) {
    const startMs = performance.now();
    await place.undisturbed(() => uninterrupted(place.web, place.db, update));
    updates.set(kind, [...(updates.get(kind) ?? []), performance.now() - startMs]);
    for (const node of nodes) handovers.push(await handoverOf(node));
  }
}
console.log(`${rounds} rolling updates of each kind: 0 wrong verdicts, 0 packets lost, no connection ended`);
for (const [kind, ms] of updates)
  console.log(`  an update of ${nodes.length} nodes ${kind.padEnd(24)}, ms:  ${percentiles(ms)}`);
console.log(`  a node's runtime without a gate meanwhile, ms:          ${percentiles(handovers)}`);
await place.leave();
process.exit();

async function restart(): Promise<void> {
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
