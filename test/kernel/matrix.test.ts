/** What `sluice matrix` and `sluice diff` say of the demo's cluster is what real packets meet: every pair, every port. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EDITS } from '../../bench/demo/edits.ts';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { address, topologyOf } from '../../bench/lab/topology.ts';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { type Address, familyOf } from '../../src/model/address.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { enforce, openKernels } from '../support/agent/enforce.ts';
import { sluice } from '../support/agent/sluice.ts';
import { pointsOf } from '../support/oracle/bruteforce.ts';
import {
  allowedByMatrix,
  familyWord,
  includes,
  namesOf,
  type PrintedConnections,
  type PrintedMatrix,
} from '../support/oracle/printedmatrix.ts';
import { tried } from '../support/packets/tried.ts';

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
  const { stdout, stderr } = sluice(...words, '-o', 'json');
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
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
    const printed = asked('matrix', '--manifests', moments[edits]!) as PrintedMatrix;
    known.push(...printed.ends.flatMap(({ members }) => members));
    const flows = flowsOf(before);
    const expected = allowedByMatrix(printed, cluster, flows);
    const open = await tried(lab, flows, expected);
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
  readonly connections: PrintedConnections;
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
