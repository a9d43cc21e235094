/** What a page of manifests waits for: the matrix from their text, what opens and closes after a key, and its memory. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { builtFolder } from './build.ts';
import type { Typed, TypedSize } from './edited.ts';
import { absolute, againstFloor, type BenchRow, median } from './row.ts';

export async function benchEdit(): Promise<BenchRow[]> {
  const [large, small, many, tiny] = [
    { workloads: 500, replicas: 1, policies: 1000, keys: 40, edits: 0 },
    { workloads: 100, replicas: 1, policies: 200, keys: 40, edits: 0 },
    { workloads: 1500, replicas: 10, policies: 1000, keys: 0, edits: 0 },
    { workloads: 20, replicas: 1, policies: 40, keys: 1, edits: 10_000 },
  ].map(typed);
  return [
    absolute('matrix of 500 workloads, 1,000 policies, from their text', 's', large!.openMs / 1000, 1),
    ...rowsOf('500 workloads, 1,000 policies', large!, 150, 400),
    ...rowsOf('100 workloads, 200 policies', small!, 60, 150),
    absolute('matrix of 15,000 pods, 1,000 policies, from their text', 's', many!.openMs / 1000, 5),
    againstFloor('memory after 10,000 edits, beside 1,000', 'MB', tiny!.mb[1], tiny!.mb[0], 1.1),
  ];
}

/** A key in a port judges one policy anew; one in a selector or a network may tell all pods and addresses apart anew. */
function rowsOf(what: string, { keysMs }: Typed, budget: number, anew: number): BenchRow[] {
  const { port, value, label, cidr } = keysMs;
  return [
    absolute(`${what}: key in a port to its difference`, 'ms', median(port), budget),
    absolute(
      '19 of 20 of these keys',
      'ms',
      port.toSorted((a, b) => a - b)[Math.floor(port.length * 0.95)]!,
      budget,
    ),
    absolute('the same in the value of a label', 'ms', median(value), anew),
    absolute('the same in the key of a label', 'ms', median(label), anew),
    absolute('the same in a network, a new one each time', 'ms', median(cidr), anew),
  ];
}

function typed(size: TypedSize): Typed {
  const program = join(builtFolder(), 'bench/bench/edited.js');
  const output = execFileSync(process.execPath, ['--expose-gc', program, JSON.stringify(size)], {
    encoding: 'utf8',
  });
  return JSON.parse(output);
}
