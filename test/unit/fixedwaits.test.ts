/** A test waits for an event, never for a duration: the durations that are left, each with its reason. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedWaits } from '../support/fixedwaits.ts';

const ROOT = join(import.meta.dirname, '../..');
// Programs that measure have no test in them.
const FILES = ['{bench,src}/**/*.test.ts', 'test/**/*.ts'];
const exclude = ['test/cluster/{bench,measure}/**'];

const EXCEPTIONS: Readonly<Record<string, string>> = {
  'test/support/agent/podchurn.ts': 'a runtime tries again after a while what an agent that is away refuses',
  'test/support/names/client.ts': 'a pod asks for one name after another, at a rate',
  'test/layouts/record.ts': 'a program that records: a table that has stood still for a second is whole',
  'test/kernel/attachcrash.test.ts': 'a kill comes at any moment, drawn by lot',
  'test/kernel/changewatch.test.ts':
    'nothing tells when the kernel has ended its own changes of links that have come up',
  'test/kernel/chaos.test.ts': 'events come at a pace, drawn by lot',
  'test/kernel/drift.test.ts': 'an edit comes at any moment, drawn by lot',
  'test/kernel/nft-kernel.test.ts': 'a reader reads at a rate',
  'test/kernel/podnetwork.test.ts': 'a sandbox is detached at several moments of its attaching',
  'test/kernel/hostile/neighbours.test.ts':
    'hosts answer such a query within a millisecond that the kernel draws by lot, or not at all',
  'test/cluster/gate/drive.ts': 'a program that measures: agents are killed at a rate',
  'test/cluster/gate/runtime.ts': 'a program that measures: pods live as long as that',
  'test/cluster/storms/api.ts': 'the API server says when to ask again',
  'test/cluster/storms/clusterrole.storm.ts':
    'a later list, of which nothing tells, is to use its permission',
  'test/cluster/storms/crash.storm.ts': 'a kill comes at any moment, drawn by lot',
  'test/cluster/storms/events.storm.ts': 'nothing tells that no second Event will come',
  'test/cluster/storms/outage.storm.ts': 'the outage lasts as long as that',
  'test/cluster/storms/proxy.storm.ts': 'the storm lasts as long as that',
  'test/cluster/storms/refusal.storm.ts': 'nothing tells that what may not be read was not read',
  'test/cluster/storms/sources.storm.ts': 'the namespace is ending for as long as that',
  'test/cluster/storms/storm.ts': 'for some seconds the API server remembers that a token was good',
  'test/cluster/specs/agent.spec.ts': 'connections go on for as long as that behind a kill',
  'test/cluster/specs/apiserver.spec.ts': 'the outage lasts as long as that, and connections go on behind it',
  'test/cluster/specs/hostile.spec.ts': 'a tenant has edited for as long as that',
  'test/cluster/specs/partition.spec.ts': 'the partition lasts as long as that',
  'test/cluster/specs/probes.spec.ts': 'the kubelet probes once a second, ten times',
  'test/cluster/specs/prompt.spec.ts': 'nothing tells when the agents of all nodes are followed',
  'test/cluster/specs/removal.spec.ts': 'connections go on for as long as that behind a removal',
  'test/cluster/specs/reuse.spec.ts': 'a pod is probed for as long as that',
  'test/cluster/specs/support/forger.ts': 'nothing tells that no error will come',
  'src/lib/async/async.test.ts': 'sleep() itself, which its signal ends',
  'src/inputs/kube/watch/source.test.ts':
    'what drops a silent watch is the timeout of a socket, which knows real time alone',
};

const found = new Map(
  globSync(FILES, { cwd: ROOT, exclude })
    .map(file => [file, fixedWaits(readFileSync(join(ROOT, file), 'utf8'))] as const)
    .filter(([, waits]) => waits.length > 0),
);

test('no test waits for a duration, but where a reason says why', () => {
  const others = [...found].filter(([file]) => EXCEPTIONS[file] === undefined);
  expect(others.map(([file, waits]) => `${file}: ${waits.join(', ')}`)).toEqual([]);
});

test('each reason is needed', () => {
  expect(Object.keys(EXCEPTIONS).filter(file => !found.has(file))).toEqual([]);
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
