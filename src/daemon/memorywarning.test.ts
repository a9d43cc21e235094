import { expect, test } from 'vitest';
import { ClusterState, type PodKey } from '../model/cluster.ts';
import { memoryWarning } from './memorywarning.ts';

test('the log says once that memory is short, as soon as the pods are too many, and again when they are so anew', () => {
  const lines: string[] = [];
  const log = { warn: (_: object, line: string) => void lines.push(line) };
  const look = memoryWarning({ heapLimit: 400 * 2 ** 20, limit: 128 * 2 ** 20 }, log);
  const state = new ClusterState();
  const take = (n: number, isThere: boolean) => {
    const key: PodKey = `shop/p${n}`;
    // The contents of pods do not matter, only their number.
    state.apply({ type: 'pod', key, ...(isThere && { value: {} as never }) });
    look(state);
    return lines.length;
  };
  const said = Array.from({ length: 11_500 }, (_, n) => take(n, true));
  const first = said.indexOf(1);
  expect(first).toBe(11_405); // 100 MB and 3 KB a pod are more than 128 MiB
  expect(said.at(-1)).toBe(1);
  expect(lines[0]).toBe(
    "11406 pods and 0 policies may take 128 MiB of memory, and the container may have 128 MiB: an agent that needs more is ended, and its rules stay as they were; raise the memory limit of the agent's container; of the chart: resources.limits.memory",
  );
  for (let n = first; n < 11_500; n++) take(n, false);
  // A pod that comes and goes at the limit is no news.
  expect([take(first, true), take(first, false), take(first, true)]).toEqual([1, 1, 1]);
  for (let n = 10_000; n < 11_500; n++) take(n, false);
  expect(Array.from({ length: 1_500 }, (_, n) => take(10_000 + n, true)).at(-1)).toBe(2);
});
