/**
 * A pod attached under its committed policy, by KNI and by `sluice-cni`, beside the same interface made by the CNI
 * project's own plugins: ptp with host-local, then portmap. One host port, and IPv4 alone: with IPv6 ptp waits for
 * duplicate address detection, more than a second.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { type Client, credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { cniSocketOf } from '../src/api/rpc/cnisocket.ts';
import { loadSchema } from '../src/api/rpc/schema.ts';
import { NamespaceHelper } from '../src/network/attach/helper.ts';
import { builtFolder } from './build.ts';
import { inNamespace } from './lab/netns.ts';
import { absolute, againstFloor, type BenchRow, percentile } from './row.ts';

const ALONE = 100;
const BURSTS = 10;
const BURST = 10;
/** The agent commits at most ten times a second for long: a node starts fewer pods than that. */
const APART_MS = 150;
const BUDGET = 0.5;
/** An absolute budget, for a machine without the plugins to compare with. */
const BUDGET_MS = 100;
const PREFIX = `/run/netns/sluice-lab-${process.pid}-attach`;

interface Way {
  readonly name: string;
  attach(pod: number, namespace: string): Promise<void>;
}

export async function benchAttach(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-attach-'));
  const helper = new NamespaceHelper();
  const made: string[] = [];
  const namespace = async (name: string) => {
    const path = `${PREFIX}.${name}`;
    made.push(path);
    await helper.create(path);
    return path;
  };
  const nodes = [await namespace('node'), await namespace('peers')] as const;
  const dist = builtFolder();
  const agent = await startAgent(dist, folder, nodes[0]);
  try {
    const ways = [kni(folder), shim(dist, folder, nodes[0]), ...plugins(folder, nodes[1])];
    const rows: BenchRow[] = [];
    const sets: [string, number[][]][] = [
      ['alone', await measure(ways, ALONE, 1, namespace)],
      [`${BURST} at once`, await measure(ways, BURSTS, BURST, namespace)],
    ];
    for (const [what, times] of sets)
      for (const percent of [50, 99]) rows.push(...attachRows(ways, what, times, percent));
    return rows;
  } finally {
    agent.kill();
    await once(agent, 'exit');
    for (const path of made) await helper.remove(path);
    await helper.close();
    rmSync(folder, { recursive: true });
  }
}

/** The times of each way, in milliseconds; one after the other, so that all see the same machine. */
async function measure(
  ways: readonly Way[],
  rounds: number,
  atOnce: number,
  namespace: (name: string) => Promise<string>,
): Promise<number[][]> {
  const times: number[][] = ways.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, way] of ways.entries()) {
      const pods = Array.from({ length: atOnce }, () => nextPod++);
      const paths = await Promise.all(pods.map(pod => namespace(`pod${pod}`)));
      await setTimeout(APART_MS);
      await Promise.all(
        pods.map(async (pod, at) => {
          const startMs = performance.now();
          await way.attach(pod, paths[at]!);
          times[index]!.push(performance.now() - startMs);
        }),
      );
    }
  return times;
}

let nextPod = 0;
const PODS = 4 * (ALONE + BURSTS * BURST);

/** Rows of the first two ways, beside the third if there is one. */
export function attachRows(
  ways: readonly Pick<Way, 'name'>[],
  what: string,
  times: readonly number[][],
  percent: number,
): BenchRow[] {
  const figures = times.map(all => percentile(all, percent));
  const floor = ways.length > 2 ? figures[2] : undefined;
  return ways.slice(0, 2).map(({ name }, index) => {
    const title = `attach by ${name}, ${what}, p${percent}`;
    const figure = figures[index]!;
    if (floor === undefined) return absolute(title, 'ms', figure, BUDGET_MS);
    return againstFloor(`${title}, beside ptp + host-local + portmap`, 'ms', figure, floor, BUDGET);
  });
}

/** A node with pods that policy selects. */
async function startAgent(dist: string, folder: string, node: string): Promise<ChildProcess> {
  const manifests = join(folder, 'pods.json');
  const pods = Array.from({ length: PODS }, (_, pod) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod${pod}`, namespace: 'shop', labels: { app: 'web' } },
    spec: { nodeName: 'node', containers: [] },
  }));
  const object = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node' },
    spec: { podCIDRs: ['10.81.0.0/20'] },
  };
  const policy = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] },
  };
  writeFileSync(
    manifests,
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [object, policy, ...pods] }),
  );
  const args = ['agent', '--node', 'node', '--manifests', manifests, '--metrics-address', 'none'];
  const main = join(dist, 'cli/main.js');
  const more = ['--socket', socketOf(folder), '--pod-network', 'attach'];
  const agent = inNamespace(node, () =>
    spawn(process.execPath, [main, ...args, ...more], { stdio: ['ignore', 'ignore', 'inherit'] }),
  );
  while (!existsSync(socketOf(folder))) await setTimeout(20);
  return agent;
}

const socketOf = (folder: string) => join(folder, 'sluice.sock');

interface KniCalls extends Client {
  AttachInterface(request: object, callback: (error: Error | null) => void): void;
}

function kni(folder: string): Way {
  const Service = makeGenericClientConstructor(loadSchema().kni, 'KNI');
  const client = new Service(`unix:${socketOf(folder)}`, credentials.createInsecure(), {
    'grpc.default_authority': 'localhost',
  }) as unknown as KniCalls;
  return {
    name: 'KNI',
    attach: (pod, path) =>
      new Promise((resolve, reject) => {
        const request = {
          name: `pod${pod}`,
          id: `box${pod}`,
          namespace: 'shop',
          isolation: { path, type: 'namespace' },
          port_mappings: [{ protocol: 'TCP', container_port: 80, host_port: 10_000 + pod }],
        };
        client.AttachInterface(request, error => (error ? reject(error) : resolve()));
      }),
  };
}

function shim(dist: string, folder: string, node: string): Way {
  const program = [join(dist, 'cni/sluice-cni')];
  const config = {
    cniVersion: '1.0.0',
    name: 'pods',
    type: 'sluice-cni',
    socket: cniSocketOf(socketOf(folder)),
  };
  return {
    name: 'sluice-cni',
    attach: async (pod, path) => {
      await run(node, program, pod, path, { ...config, ...portMappings(pod) });
    },
  };
}

function plugins(folder: string, node: string): Way[] {
  const bin = folders().find(path =>
    ['ptp', 'host-local', 'portmap'].every(name => existsSync(join(path, name))),
  );
  if (bin === undefined) return [];
  const base = { cniVersion: '1.0.0', name: 'pods' };
  const ranges = [[{ subnet: '10.82.0.0/20' }]];
  const routes = [{ dst: '0.0.0.0/0' }];
  const ipam = { type: 'host-local', dataDir: join(folder, 'ipam'), ranges, routes };
  const attach = async (pod: number, path: string) => {
    const ptp = { ...base, type: 'ptp', ipam };
    const prevResult = await run(node, [join(bin, 'ptp')], pod, path, ptp, bin);
    const portmap = { ...base, type: 'portmap', backend: 'nftables', prevResult, ...portMappings(pod) };
    await run(node, [join(bin, 'portmap')], pod, path, portmap, bin);
  };
  return [{ name: 'ptp + host-local + portmap', attach }];
}

/** Folders in which the CNI project's plugins may be. */
function folders(): string[] {
  const cache = '/var/cache/sluice';
  const built = existsSync(cache) ? readdirSync(cache).map(name => join(cache, name, 'bin')) : [];
  return ['/opt/cni/bin', '/usr/lib/cni', ...built];
}

const portMappings = (pod: number) => ({
  runtimeConfig: { portMappings: [{ hostPort: 10_000 + pod, containerPort: 80, protocol: 'tcp' }] },
});

async function run(
  node: string,
  [program = '', ...args]: readonly string[],
  pod: number,
  path: string,
  config: object,
  bin = '',
): Promise<unknown> {
  const env = {
    PATH: process.env.PATH,
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: `box${pod}`,
    CNI_NETNS: path,
    CNI_IFNAME: 'eth0',
    CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=pod${pod}`,
    CNI_PATH: bin,
  };
  const child = inNamespace(node, () => spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] }));
  child.stdin!.end(JSON.stringify(config));
  const [output] = await Promise.all([text(child.stdout!), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Error(`${program}: ${output}`);
  return JSON.parse(output);
}
