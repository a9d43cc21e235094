/** How long a person waits for `sluice explain`: the program as it is installed, from its start to its end. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { apiCluster } from './apicluster.ts';
import { builtFolder } from './build.ts';
import type { KubeObject } from './fakeapiserver.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { absolute, type BenchRow, median } from './row.ts';
import { serving } from './serving.ts';

const ROUNDS = 7;
const QUESTION = ['explain', 'ns-1/pod-1', 'ns-2/pod-2:80'];

export async function benchExplain(): Promise<BenchRow[]> {
  const program = join(builtFolder(), 'sluice.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    return [
      absolute('sluice --help', 's', costOf(program, ['--help']).cpu, 0.1),
      ...fromFolders(program, folder),
      ...(await fromServers(program, folder)),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function fromFolders(program: string, folder: string): BenchRow[] {
  const objects = apiCluster({ pods: 1000, policies: 100 }).map(withoutManagedFields);
  const written = [
    [
      'YAML, as kubectl get -o yaml prints it',
      'yaml',
      (list: object) => stringify(list, { aliasDuplicateObjects: false }),
    ],
    ['JSON', 'json', (list: object) => JSON.stringify(list)],
  ] as const;
  return written.map(([what, extension, print]) => {
    const path = join(folder, extension);
    mkdirSync(path);
    writeFileSync(join(path, `all.${extension}`), print({ apiVersion: 'v1', kind: 'List', items: objects }));
    const { cpu } = costOf(program, [...QUESTION, '--manifests', path]);
    return absolute(`explain from a folder of 1,000 pods, ${what}`, 's', cpu, 0.4);
  });
}

/** kubectl does not show them. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'] & {
    managedFields?: unknown;
  };
  return { ...object, metadata };
}

const CLUSTERS = [
  [{ pods: 15_000, policies: 1000 }, 'with 15,000 pods, 1,000 policies', 3],
  [{ pods: 300, policies: 3000, policiesIn: 'ns-1' }, 'with 3,000 policies in the namespace', 0.9],
] as const;

async function fromServers(program: string, folder: string): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [size, what, budget] of CLUSTERS) {
    const elapsed = await serving('serveapi.js', size, server => {
      const kubeconfig = join(folder, 'kubeconfig');
      writeFileSync(kubeconfig, kubeconfigOf(server));
      return costOf(program, [...QUESTION, '--kubeconfig', kubeconfig]).elapsed;
    });
    rows.push(absolute(`explain from an API server ${what}`, 's', elapsed, budget));
  }
  return rows;
}

interface Cost {
  /** CPU time, since the machine has other work to do. */
  readonly cpu: number;
  readonly elapsed: number;
}

/** The child says what it took of the CPU when it ends. */
const REPORT = `data:text/javascript,import{writeSync}from"node:fs";process.on("exit",()=>{const{user,system}=process.cpuUsage();writeSync(3,String((user+system)/1e6))})`;

/** Medians in seconds, once the files are in memory. Throws where there is no answer. */
export function costOf(program: string, words: readonly string[]): Cost {
  const costs = Array.from({ length: ROUNDS + 1 }, () => run(program, words)).slice(1);
  return { cpu: median(costs.map(({ cpu }) => cpu)), elapsed: median(costs.map(({ elapsed }) => elapsed)) };
}

function run(program: string, words: readonly string[]): Cost {
  const startMs = performance.now();
  const { status, stderr, output } = spawnSync(process.execPath, ['--import', REPORT, program, ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  if (status === null || status > 1) throw new Error(`${words.join(' ')}: ${stderr}`);
  return { cpu: Number(output[3]), elapsed: (performance.now() - startMs) / 1000 };
}
