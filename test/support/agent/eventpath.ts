/**
 * A process that counts which functions of src an agent runs for one change of the cluster, from the API server's line to
 * the rules in force: by V8's precise coverage, in the network namespace that it is started in. What several changes of
 * a kind all run is counted, so that no timer that goes off between them does. Prints an EventPath for each kind, as JSON.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { apiCluster } from '../../../bench/apicluster.ts';
import { FakeApiServer, type KubeObject } from '../../../bench/fakeapiserver.ts';
import { kubeconfigOf } from '../../../bench/kubeconfig.ts';
import type { Committed } from '../../../src/agent/committed.ts';
import { openPipeline } from '../../../src/daemon/pipeline.ts';
import { ForeignWriters } from '../../../src/kernel/netlink/nftables/foreignwriters.ts';
import { SRC } from '../importgraph.ts';

/** The files and functions that every change of a kind runs. */
export interface EventPath {
  readonly kind: string;
  /** Each as `file:line name`. */
  readonly functions: readonly string[];
  readonly files: readonly string[];
  /** Expected number of operations in the batch of each change. */
  readonly ops: readonly number[];
}

const SIZE = { pods: 300, policies: 60 };
const CHANGES = 22;
/** The first ones are not counted: the rules of all else come with them, and they load what later ones find. */
const UNCOUNTED = 2;
/** Whether the loop waits or yields on the way depends on how busy the machine is. */
const BY_LOAD = /\basync\/(?:eventloopyield|sleep)\.ts$/;

// If other processes write, too, a commit takes the longer way, which does not block the event loop. Whether they have been quiet
// for long enough here depends on how fast the machine is.
ForeignWriters.prototype.isQuiet = () => false;

const server = new FakeApiServer();
const objects = apiCluster({ pods: SIZE.pods + CHANGES, policies: SIZE.policies });
const isAdded = ({ kind, metadata }: KubeObject) =>
  kind === 'Pod' && Number(metadata.name.slice('pod-'.length)) >= SIZE.pods;
for (const object of objects.filter(each => !isAdded(each))) server.put(object);
await server.start();

const folder = mkdtempSync(join(tmpdir(), 'sluice-path-'));
const kubeconfig = join(folder, 'kubeconfig');
writeFileSync(kubeconfig, kubeconfigOf((await server.access()).server));
const { source, agent, liveConnections } = await openPipeline(
  { node: 'node-0', kubeconfig, startGate: 'off', socket: 'none', metricsAddress: 'none' },
  pino({ level: 'silent' }),
);
let committed: (round: Committed) => void = () => undefined;
agent.observe({ committed: round => committed(round) });
const stop = new AbortController();
await source.mayStart(stop.signal);
void agent.run(stop.signal);
await source.synced;

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
for (const [kind, changes] of Object.entries({ pod: pods(), policy: policies() }))
  process.stdout.write(`${JSON.stringify(await pathOf(kind, changes))}\n`);
rmSync(folder, { recursive: true });
process.exit();

async function pathOf(kind: string, changes: readonly KubeObject[]): Promise<EventPath> {
  const ops: number[] = [];
  let all = new Set<string>();
  for (const [i, change] of changes.entries()) {
    const { round, ran } = await inForce(change);
    await liveConnections?.settled(); // else what follows it would run beside the next one
    if (i < UNCOUNTED) continue;
    ops.push(round.ops.length);
    all = all.size === 0 ? ran : new Set([...all].filter(each => ran.has(each)));
  }
  const functions = [...all].map(placed).sort();
  return { kind, functions, files: [...new Set(functions.map(each => each.split(':')[0]!))], ops };
}

/** Applies an object and waits until the batch with it is in force and the observers were called. */
function inForce(object: KubeObject): Promise<{ readonly round: Committed; readonly ran: Set<string> }> {
  const { promise, resolve } = Promise.withResolvers<{ round: Committed; ran: Set<string> }>();
  committed = round => {
    if (round.ops.length > 0) resolve({ round, ran: functionsRun() }); // else the kernel was only looked at
  };
  functionsRun(); // begins to count anew
  server.put(object);
  return promise;
}

/** The functions that ran since the last call: the inspector session answers synchronously. */
function functionsRun(): Set<string> {
  let scripts: readonly Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error;
    scripts = result;
  });
  const ran = new Set<string>();
  for (const { url, functions } of scripts) {
    const file = url.startsWith('file:') ? relative(SRC, fileURLToPath(url)) : '..';
    if (file.startsWith('..') || file.startsWith('bench/') || BY_LOAD.test(file)) continue;
    for (const { functionName, ranges } of functions)
      if (ranges[0]!.count > 0) ran.add(`${file} ${functionName} ${ranges[0]!.startOffset}`);
  }
  return ran;
}

/** `file name offset` as `file:line name`, which a reader can look up. */
function placed(ran: string): string {
  const [, file, name, offset] = /^(\S+) (.*) (\d+)$/.exec(ran)!;
  const line = readFileSync(join(SRC, file!), 'utf8').slice(0, Number(offset)).split('\n').length;
  return `${file}:${line} ${name || '=>'}`;
}

/** Pods on another node, each a member of the same dual-stack set of peers. */
function pods(): KubeObject[] {
  return objects.filter(isAdded).map(pod => ({ ...pod, metadata: { ...pod.metadata, namespace: 'ns-2' } }));
}

/** Small ones, each in a namespace that has a pod on the node. */
function policies(): KubeObject[] {
  return Array.from({ length: CHANGES }, (_, i) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'small', namespace: `ns-${i + 1}` },
    spec: {
      podSelector: { matchLabels: { app: 'app-0' } },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [{ podSelector: { matchLabels: { app: `app-0` } } }],
          ports: [{ protocol: 'TCP', port: 7000 + i }],
        },
      ],
    },
  }));
}
