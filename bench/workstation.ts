/** How long a person waits at a workstation for the whole cluster: the program as it is installed, from start to end. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtFolder } from './build.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { absolute, type BenchRow, median } from './row.ts';
import { serving } from './serving.ts';

/** What a node of two cores takes to start `sluice status` in the agent's pod. */
const ANSWER_MS = 300;

const CLUSTERS = [
  { nodes: 50, budget: 3, rounds: 5 },
  { nodes: 1_000, budget: 20, rounds: 1 },
] as const;

export async function benchWorkstation(): Promise<BenchRow[]> {
  const program = join(builtFolder(), 'sluice.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const rows: BenchRow[] = [];
  try {
    for (const { nodes, budget, rounds } of CLUSTERS) {
      const seconds = await serving('serveagents.js', { nodes, answerMs: ANSWER_MS }, server => {
        const kubeconfig = join(folder, 'kubeconfig');
        writeFileSync(kubeconfig, kubeconfigOf(server));
        return median(Array.from({ length: rounds }, () => askStatus(program, kubeconfig, nodes)));
      });
      const name = `status of ${nodes.toLocaleString('en')} nodes that answer after ${ANSWER_MS} ms`;
      rows.push(absolute(name, 's', seconds, budget));
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** In seconds. Throws where a node is missing. */
function askStatus(program: string, kubeconfig: string, nodes: number): number {
  const startMs = performance.now();
  const words = [program, 'status', '--kubeconfig', kubeconfig];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  const ready = stdout.match(/^node-\d+ +ready /gm)?.length;
  if (status !== 0 || ready !== nodes) throw new Error(`${ready} of ${nodes} nodes are ready: ${stderr}`);
  return (performance.now() - startMs) / 1_000;
}
