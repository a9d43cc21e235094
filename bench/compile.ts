/** The start on a big cluster: everything compiled and put into an empty kernel, and what the agent weighs then. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Size } from './cluster.ts';
import type { FreshFigures } from './fresh.ts';
import { absolute, type BenchRow, median } from './row.ts';

const ROOT = join(import.meta.dirname, '..');
const ROUNDS = 5;

export async function benchCompile(): Promise<BenchRow[]> {
  buildChild();
  const usual = starts({ pods: 10_000, policies: 1000 });
  const cluster = starts({ pods: 10_000, policies: 1000, tier: 'admin' });
  const big = starts({ pods: 15_000, policies: 1000 });
  return [
    absolute('full compile and first commit, 10,000 pods, 1,000 policies', 's', usual.seconds, 1),
    absolute('the same with 1,000 cluster policies', 's', cluster.seconds, 1.5),
    absolute('memory of the agent, 10,000 pods, 1,000 policies', 'MB', usual.megabytes, 150),
    absolute('memory of the agent, 15,000 pods, 1,000 policies', 'MB', big.megabytes, 150),
  ];
}

/** Medians over processes that each did it once. */
function starts(size: Size): FreshFigures {
  const rounds = Array.from({ length: ROUNDS }, () => freshProcess(size));
  return {
    seconds: median(rounds.map(({ seconds }) => seconds)),
    megabytes: median(rounds.map(({ megabytes }) => megabytes)),
  };
}

/** Compiled to JavaScript first, as the agent is: to strip types as it starts, Node takes 35 MB more. */
function buildChild(): void {
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', import.meta.dirname], { stdio: 'inherit' });
}

function freshProcess(size: Size): FreshFigures {
  const child = join(ROOT, 'node_modules/.cache/sluice-bench/bench/fresh.js');
  return JSON.parse(execFileSync(process.execPath, [child, JSON.stringify(size)], { encoding: 'utf8' }));
}
