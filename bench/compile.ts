/** The start on a big cluster: everything compiled and put into an empty kernel. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { builtFolder } from './build.ts';
import type { Size } from './cluster.ts';
import { absolute, type BenchRow, median } from './row.ts';

const ROUNDS = 5;

export async function benchCompile(): Promise<BenchRow[]> {
  const program = join(builtFolder(), 'bench/bench/fresh.js');
  const usual = seconds(program, { pods: 10_000, policies: 1000 });
  const cluster = seconds(program, { pods: 10_000, policies: 1000, tier: 'admin' });
  return [
    absolute('full compile and first commit, 10,000 pods, 1,000 policies', 's', usual, 1),
    absolute('the same with 1,000 cluster policies', 's', cluster, 1.5),
  ];
}

/** The median over processes that each did it once. */
function seconds(program: string, size: Size): number {
  return median(Array.from({ length: ROUNDS }, () => freshProcess(program, size)));
}

function freshProcess(program: string, size: Size): number {
  return Number(execFileSync(process.execPath, [program, JSON.stringify(size)], { encoding: 'utf8' }));
}
