/** Matrices of large folders of manifests, and the differences between two. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtFolder } from './build.ts';
import { writeFolder } from './manifestfolder.ts';
import { absolute, againstFloor, type BenchRow, median } from './row.ts';

const ROUNDS = 3;

interface Cost {
  readonly ms: number;
  readonly readMs: number;
  readonly mb: number;
  /** Lines of the matrix, or changes: an empty answer is quickly found. */
  readonly found: number;
}

export async function benchMatrix(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    return measure(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function measure(folder: string): BenchRow[] {
  const [small, changed, large] = ['small', 'changed', 'large'].map(name => join(folder, name));
  writeFolder(small!, { workloads: 500, replicas: 1, policies: 1000 });
  writeFolder(changed!, { workloads: 500, replicas: 1, policies: 1000, changed: 100 });
  writeFolder(large!, { workloads: 1500, replicas: 10, policies: 1000 });
  const [matrix, diff, pods] = [cost(small!), cost(small!, changed!), cost(large!)];
  return [
    absolute('matrix of 500 workloads, 1,000 policies, from a folder', 's', matrix.ms / 1000, 2),
    absolute('the same without reading the folder', 's', (matrix.ms - matrix.readMs) / 1000, 2),
    againstFloor(
      'diff of the same and 100 policies changed, beside the matrix',
      's',
      diff.ms / 1000,
      matrix.ms / 1000,
      2,
    ),
    absolute('matrix of 15,000 pods, 1,000 policies, from a folder', 's', pods.ms / 1000, 5),
    absolute('the same without reading the folder', 's', (pods.ms - pods.readMs) / 1000, 5),
    absolute('memory of it', 'MB', pods.mb, 500),
    ...besideAnalyzer(small!, matrix.ms / 1000),
  ];
}

function cost(...folders: readonly string[]): Cost {
  const program = join(builtFolder(), 'bench/bench/surveyed.js');
  const costs = Array.from({ length: ROUNDS }, (): Cost => {
    return JSON.parse(execFileSync(process.execPath, [program, ...folders], { encoding: 'utf8' }));
  });
  if (costs.some(({ found }) => found === 0)) throw new Error('nothing was found: that is no measurement');
  const middle = (of: (cost: Cost) => number) => median(costs.map(of));
  return {
    ms: middle(({ ms }) => ms),
    readMs: middle(({ readMs }) => readMs),
    mb: middle(({ mb }) => mb),
    found: costs[0]!.found,
  };
}

/** np-guard's analyzer over the same folder, where SLUICE_NETPOL_ANALYZER names its program. */
function besideAnalyzer(folder: string, seconds: number): BenchRow[] {
  const program = process.env.SLUICE_NETPOL_ANALYZER;
  if (program === undefined) return [];
  const startMs = performance.now();
  execFileSync(program, ['list', '--dirpath', folder, '-q'], { stdio: 'ignore' });
  const theirs = (performance.now() - startMs) / 1000;
  return [
    againstFloor('matrix of the same folder, beside np-guard netpol-analyzer', 's', seconds, theirs, 1),
  ];
}
