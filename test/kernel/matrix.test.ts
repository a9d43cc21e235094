/** What `sluice matrix` and `sluice diff` say of the demo's cluster is what real packets meet: every pair, every port. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EDITS } from '../../src/demo/edits.ts';
import { loadManifests } from '../../src/files/load.ts';
import { forgetConnections } from '../../src/lab/conntrack.ts';
import { buildLab, type Lab } from '../../src/lab/lab.ts';
import { probe } from '../../src/lab/probe/probe.ts';
import { address, topologyOf } from '../../src/lab/topology.ts';
import { type Address, cidrContains, familyOf, parseCidr } from '../../src/model/address.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { enforce, openKernels } from '../support/agent/enforce.ts';
import { pointsOf } from '../support/oracle/bruteforce.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const SHOP = join(import.meta.dirname, '../../examples/shop');
/** In the internet, at the cloud's metadata service, and in the pods' own network, where nobody is. */
const OUTSIDE = [
  '198.51.100.7',
  '169.254.169.254',
  '10.244.9.9',
  '2001:db8:1::7',
  'fd00:ec2::254',
  'fd00:244::9:9',
].map(address);

let folder: string;
let lab: Lab;
let kernels: ReadonlyMap<string, Kernel>;
let before: Cluster;
/** The folders of the demo's cluster, as it is and after each of its edits. */
let moments: readonly string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-matrix-'));
  moments = [0, 1, 2].map(edits => {
    const moment = join(folder, String(edits));
    cpSync(SHOP, moment, { recursive: true });
    for (const edit of EDITS.slice(0, edits)) edit.apply(moment);
    return moment;
  });
  before = (await loadManifests(moments[0]!)).cluster;
  lab = await buildLab(topologyOf(before, OUTSIDE));
  kernels = await openKernels(lab);
}, 120_000);

afterAll(() => {
  for (const kernel of kernels?.values() ?? []) kernel.close();
  lab?.remove();
  rmSync(folder, { recursive: true });
});

function asked(...words: string[]) {
  const { stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words, '-o', 'json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

interface Connections {
  readonly tcp: readonly (readonly [number, number])[];
  readonly udp: readonly (readonly [number, number])[];
  readonly sctp: readonly (readonly [number, number])[];
  readonly icmp: boolean;
}

function includes(connections: Connections | null, { protocol, port = 0 }: Flow): boolean {
  if (connections === null) return false;
  if (protocol === 'ICMP') return connections.icmp;
  const ranges = connections[String(protocol).toLowerCase() as 'tcp'];
  return ranges.some(([first, last]) => first <= port && port <= last);
}

/** As the commands name an end: `Pod shop/web`, `node1`, and of all networks that have an address the smallest. */
function namesOf(cluster: Cluster, end: Address): (members: readonly string[]) => number {
  const pod = [...cluster.pods.values()].find(
    ({ addresses, hostNetwork }) => !hostNetwork && addresses.includes(end),
  );
  const node = [...cluster.nodes.values()].find(({ addresses }) => addresses.includes(end));
  const name = pod?.key ?? (node && `node/${node.name}`) ?? node?.name;
  return members =>
    Math.max(
      -1,
      ...members.map(member => {
        const own = member.slice(member.indexOf(' ') + 1);
        if (name !== undefined) return own === name || own === node?.name ? 1000 : -1;
        const cidr = parseCidr(member);
        if (cidr !== undefined) return cidrContains(cidr, end) ? Number(member.split('/')[1]) : -1;
        return member === 'internet' ? 0 : -1;
      }),
    );
}

/** The index of the end that an address belongs to. */
function endOf(
  ends: readonly { readonly members: readonly string[] }[],
  cluster: Cluster,
  at: Address,
): number {
  const rank = namesOf(cluster, at);
  const ranks = ends.map(({ members }) => rank(members));
  return ranks.indexOf(Math.max(...ranks));
}

/** Between all that have an address: not of a pod to itself, nor of a node to its own pods, which policy never judges. */
function flowsOf(cluster: Cluster): Flow[] {
  const pods = [...cluster.pods.values()].filter(({ hostNetwork, finished }) => !hostNetwork && !finished);
  const nodeOf = new Map(
    [...cluster.nodes.values()].flatMap(({ name, addresses }) =>
      addresses.map(each => [each, name] as const),
    ),
  );
  const ofPods = new Map(pods.flatMap(pod => pod.addresses.map(each => [each, pod] as const)));
  const all = [...new Set([...ofPods.keys(), ...nodeOf.keys(), ...OUTSIDE])];
  const points = pointsOf(cluster).filter(({ protocol }) => typeof protocol !== 'number');
  return all.flatMap(from =>
    all.flatMap(to => {
      const [source, target] = [ofPods.get(from), ofPods.get(to)];
      if (familyOf(from) !== familyOf(to) || (source ?? target) === undefined || source === target) return [];
      if (nodeOf.get(from) !== undefined && nodeOf.get(from) === target?.node) return [];
      return points.map(point => ({ from, to, ...point }) as Flow);
    }),
  );
}

function forgetAll(): void {
  for (const { name } of lab.topology.nodes) forgetConnections(lab.nodeNamespace(name));
}

/** Whether each is open; one that should be gets a second, longer chance on a busy machine. */
async function tried(flows: readonly Flow[], expected: readonly boolean[]): Promise<boolean[]> {
  forgetAll();
  const open = (await probe(lab, flows)).map(outcome => outcome === 'open');
  const late = flows.map((_, i) => i).filter(i => expected[i] && !open[i]);
  if (late.length === 0) return open;
  forgetAll();
  const again = await probe(
    lab,
    late.map(i => flows[i]!),
    { quietMs: 1000 },
  );
  for (const [at, i] of late.entries()) open[i] = again[at] === 'open';
  return open;
}

const familyWord = (flow: Flow) => (familyOf(flow.from) === 'ip' ? 'ipv4' : 'ipv6') as 'ipv4' | 'ipv6';
const text = ({ from, to, protocol, port }: Flow) => `${from} -> ${to}:${port}/${protocol}`;

/** All that the matrices name: what is no network of policies is the internet. */
const known: string[] = [];
/** What packets found at each moment, by flow. */
const found: Map<string, boolean>[] = [];

test.each([0, 1, 2])(
  'after %i edits, the matrix is what packets find',
  async edits => {
    const { cluster } = await loadManifests(moments[edits]!);
    await enforce(lab, kernels, cluster);
    const { ends, connections } = asked('matrix', '--manifests', moments[edits]!);
    known.push(...ends.flatMap(({ members }: { members: readonly string[] }) => members));
    const flows = flowsOf(before);
    const cells = new Map(
      connections.map((each: { from: number; to: number }) => [`${each.from} ${each.to}`, each]),
    ) as Map<string, Record<'ipv4' | 'ipv6', Connections>>;
    const expected = flows.map(flow => {
      const key = `${endOf(ends, cluster, flow.from)} ${endOf(ends, cluster, flow.to)}`;
      return includes(cells.get(key)?.[familyWord(flow)] ?? null, flow);
    });
    const open = await tried(flows, expected);
    const wrong = flows.filter((_, i) => open[i] !== expected[i]).map(text);
    const counts = { flows: flows.length, open: open.filter(Boolean).length };
    process.stdout.write(`    ${JSON.stringify(counts)}\n`);
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(Math.min(counts.open, counts.flows - counts.open)).toBeGreaterThan(1000);
    found[edits] = new Map(flows.map((flow, i) => [text(flow), open[i]!]));
  },
  300_000,
);

interface Change {
  readonly kind: 'opens' | 'closes';
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly families: readonly string[];
  readonly connections: Connections;
}

test.each([
  [0, 1],
  [1, 2],
])('the diff from %i to %i edits is what packets find changed', async (old, now) => {
  const { changes } = asked('diff', moments[old]!, moments[now]!) as { changes: readonly Change[] };
  const tally = { opens: 0, closes: 0 };
  const wrong = flowsOf(before).filter(flow => {
    const [was, is] = [found[old]!.get(text(flow))!, found[now]!.get(text(flow))!];
    const expected = was === is ? undefined : is ? 'opens' : 'closes';
    if (expected !== undefined) tally[expected]++;
    const said = new Set(changes.filter(change => isAbout(change, flow)).map(({ kind }) => kind));
    return String([...said]) !== String(expected === undefined ? [] : [expected]);
  });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(wrong.map(text).slice(0, 20)).toEqual([]);
  expect(tally.opens + tally.closes).toBeGreaterThan(5);
});

function isAbout({ from, to, families, connections }: Change, flow: Flow): boolean {
  if (!families.includes(familyWord(flow)) || !includes(connections, flow)) return false;
  return isOf(from, flow.from) && isOf(to, flow.to);
}

/** Of networks within networks the smallest one is meant. */
function isOf(members: readonly string[], at: Address): boolean {
  const rank = namesOf(before, at);
  return rank(members) >= 0 && rank(members) === rank(known);
}
