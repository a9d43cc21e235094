/** The start on a big cluster: everything compiled and put into an empty kernel. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Size } from './cluster.ts';
import { absolute, type BenchRow, median } from './row.ts';

const ROOT = join(import.meta.dirname, '..');
const ROUNDS = 5;

export async function benchCompile(): Promise<BenchRow[]> {
  buildChild();
  const usual = seconds({ pods: 10_000, policies: 1000 });
  const cluster = seconds({ pods: 10_000, policies: 1000, tier: 'admin' });
  return [
    absolute('full compile and first commit, 10,000 pods, 1,000 policies', 's', usual, 1),
    absolute('the same with 1,000 cluster policies', 's', cluster, 1.5),
  ];
}

/** The median over processes that each did it once. */
function seconds(size: Size): number {
  return median(Array.from({ length: ROUNDS }, () => freshProcess(size)));
}

/** Compiled to JavaScript first, as the agent is. */
function buildChild(): void {
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', import.meta.dirname], { stdio: 'inherit' });
}

function freshProcess(size: Size): number {
  const child = join(ROOT, 'node_modules/.cache/sluice-bench/bench/fresh.js');
  return Number(execFileSync(process.execPath, [child, JSON.stringify(size)], { encoding: 'utf8' }));
}
