/** A test waits for an event, never for a duration: the durations that are left, each with its reason. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedWaits } from '../support/fixedwaits.ts';

const ROOT = join(import.meta.dirname, '../..');
// Programs that measure have no test in them.
const FILES = ['{bench,src}/**/*.test.ts', 'test/**/*.ts'];
const exclude = ['test/cluster/{bench,measure}/**'];

/** How many a file has, and why. */
const EXCEPTIONS: Readonly<Record<string, readonly [waits: number, why: string]>> = {
  'test/support/agent/podchurn.ts': [
    1,
    'a runtime tries again after a while what an agent that is away refuses',
  ],
  'test/support/names/client.ts': [1, 'a pod asks for one name after another, at a rate'],
  'test/layouts/record.ts': [1, 'a program that records: a table that has stood still for a second is whole'],
  'test/kernel/attachcrash.test.ts': [2, 'a kill comes at any moment, drawn by lot'],
  'test/kernel/changewatch.test.ts': [
    1,
    'nothing tells when the kernel has ended its own changes of links that have come up',
  ],
  'test/kernel/chaos.test.ts': [1, 'events come at a pace, drawn by lot'],
  'test/kernel/drift.test.ts': [1, 'an edit comes at any moment, drawn by lot'],
  'test/kernel/nft-kernel.test.ts': [1, 'a reader reads at a rate'],
  'test/kernel/podnetwork.test.ts': [1, 'a sandbox is detached at several moments of its attaching'],
  'test/kernel/hostile/neighbours.test.ts': [
    1,
    'hosts answer such a query within a millisecond that the kernel draws by lot, or not at all',
  ],
  'test/cluster/gate/drive.ts': [2, 'a program that measures: agents are killed at a rate'],
  'test/cluster/gate/runtime.ts': [2, 'a program that measures: pods live as long as that'],
  'test/cluster/storms/api.ts': [1, 'the API server says when to ask again'],
  'test/cluster/storms/clusterrole.storm.ts': [
    2,
    'a later list, of which nothing tells, is to use its permission',
  ],
  'test/cluster/storms/crash.storm.ts': [1, 'a kill comes at any moment, drawn by lot'],
  'test/cluster/storms/events.storm.ts': [2, 'nothing tells that no second Event will come'],
  'test/cluster/storms/outage.storm.ts': [1, 'the outage lasts as long as that'],
  'test/cluster/storms/proxy.storm.ts': [2, 'the storm lasts as long as that'],
  'test/cluster/storms/refusal.storm.ts': [1, 'nothing tells that what may not be read was not read'],
  'test/cluster/storms/sources.storm.ts': [1, 'the namespace is ending for as long as that'],
  'test/cluster/storms/storm.ts': [1, 'for some seconds the API server remembers that a token was good'],
  'test/cluster/specs/prompt.spec.ts': [1, 'nothing tells when the agents of all nodes record'],
  'test/cluster/specs/support/forger.ts': [1, 'nothing tells that no error will come'],
  'src/lib/async/async.test.ts': [2, 'sleep() itself, which its signal ends'],
  'src/inputs/kube/watch/source.test.ts': [
    2,
    'what drops a silent watch is the timeout of a socket, which knows real time alone',
  ],
};

const found = new Map(
  globSync(FILES, { cwd: ROOT, exclude })
    .map(file => [file, fixedWaits(readFileSync(join(ROOT, file), 'utf8'))] as const)
    .filter(([, waits]) => waits.length > 0),
);

test('no test waits for a duration, but where a reason says why, and as often', () => {
  const others = [...found].filter(([file, waits]) => waits.length > (EXCEPTIONS[file]?.[0] ?? 0));
  expect(others.map(([file, waits]) => `${file}: ${waits.join(', ')}`)).toEqual([]);
});

test('each reason is needed, and for as many waits', () => {
  const most = Object.entries(EXCEPTIONS).map(([file, [waits]]) => [file, waits]);
  expect(most.filter(([file, waits]) => found.get(`${file}`)?.length !== waits)).toEqual([]);
});

test.each([
  ["import { setTimeout } from 'node:timers/promises'; await setTimeout(300);", ['setTimeout(300)']],
  ['await new Promise(resolve => setTimeout(resolve, 20));', ['setTimeout(resolve, 20)']],
  [
    'const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms)); await pause(5);',
    ['pause(5)'],
  ],
  ["import { setTimeout as nap } from 'node:timers/promises'; for (;;) await nap(500);", ['nap(500)']],
  ["import { setTimeout } from 'node:timers/promises'; await setTimeout(WAIT_MS);", ['setTimeout(WAIT_MS)']],
  ["import { setTimeout } from 'node:timers/promises'; while (!isSo()) await setTimeout(20);", []],
  ['const timer = setTimeout(() => child.kill(), 10_000);', []],
  ['class Slow { commit() { return new Promise(done => setTimeout(done, this.commitMs)); } }', []],
])('fixedWaits() of %s', (text, waits) => {
  expect(fixedWaits(text)).toEqual(waits);
});
