/**
 * What `matrix`, `record`, `replay` and `suggest` say of random small clusters is what packets meet, between all that have
 * an address there, where the agents of all nodes follow the same manifests.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { writeRecording } from '../../src/cli/recording/record.ts';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { type Address, familyOf } from '../../src/model/address.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { mergeRecordings } from '../../src/observe/recording/merge.ts';
import type { Recording } from '../../src/observe/recording/recording.ts';
import { sluice } from '../support/agent/sluice.ts';
import { manifestsArbitrary, NODES, OUTSIDE, PODS, REVISION } from '../support/arbitrary/manifests.ts';
import { allowedByMatrix } from '../support/oracle/printedmatrix.ts';
import { ManifestAgents } from '../support/packets/manifestagents.ts';
import { recordedWhile } from '../support/packets/recordedwhile.ts';
import { forgetAll, tried } from '../support/packets/tried.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(2, 1);
/** Of all connections, how many are tried while somebody records. */
const RECORDED = 300;
const NAMESPACES = ['a', 'b', 'c'];
const POINTS = [
  { protocol: 'TCP', port: 80 },
  { protocol: 'TCP', port: 81 },
  { protocol: 'TCP', port: 443 },
  { protocol: 'UDP', port: 53 },
  { protocol: 'UDP', port: 80 },
  { protocol: 'SCTP', port: 80 },
  { protocol: 'ICMP' },
] as const;

/** Between all but a pod and itself, and a node and its own pods, which policy never judges. */
const FLOWS: readonly Flow[] = flowsBetween([
  ...PODS.map(({ addresses, node }) => ({ addresses, node, isPod: true })),
  ...NODES.map(({ addresses, name }) => ({ addresses, node: name, isPod: false })),
  ...OUTSIDE.map(address => ({ addresses: [address], node: undefined, isPod: false })),
]);

interface End {
  readonly addresses: readonly Address[];
  readonly node: string | undefined;
  readonly isPod: boolean;
}

function flowsBetween(ends: readonly End[]): Flow[] {
  const pairs = ends.flatMap(from => ends.map(to => [from, to] as const));
  return pairs
    .filter(([from, to]) => from !== to && (from.isPod || to.isPod))
    .filter(([from, to]) => from.isPod || from.node !== to.node)
    .flatMap(([{ addresses }, { addresses: targets }]) =>
      addresses.flatMap(from =>
        targets.filter(to => familyOf(to) === familyOf(from)).map(to => ({ from, to })),
      ),
    )
    .flatMap(flow => POINTS.map(point => ({ ...flow, ...point })));
}

let lab: Lab;
let folder: string;
let agents: ManifestAgents;
const tally = { open: 0, closed: 0 };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-random-'));
  const pods = PODS.map(({ namespace, name, ...rest }) => ({ ...rest, name: `${namespace}/${name}` }));
  lab = await buildLab({ nodes: NODES, pods, outside: OUTSIDE });
  agents = new ManifestAgents(lab, folder);
});

afterEach(() => agents.kill());

afterAll(() => {
  lab?.remove();
  rmSync(folder, { recursive: true });
});

const worlds = fc.record({
  manifests: manifestsArbitrary,
  some: fc.subarray([...FLOWS], { minLength: RECORDED, maxLength: RECORDED }),
});

test.each(fc.sample(worlds, CLUSTERS))(
  'cluster %# is as it is said to be',
  async ({ manifests: { world, policies, others }, some }) => {
    const [now, next] = [manifestsOf('now', world, policies), manifestsOf('next', world, others)];
    const { cluster, problems } = await loadManifests(now);
    expect(problems).toEqual([]);
    const { open, recordings } = await recordedUnder(now, cluster, some);
    const recorded = some.map(flow => `${text(flow)} ${wordOf(open.has(flow))}`);
    expect(recordedTexts(recordings)).toEqual(recorded.sort());
    const files = recordings.map(written);
    await expectReplay(files, next, cluster, some);
    const seen = some.filter(flow => open.has(flow));
    await expectSuggestion(suggestedOf(world, files), cluster, seen);
  },
  180_000,
);

test('of all connections many were open, and many were not', () => {
  expect(Math.min(tally.open, tally.closed)).toBeGreaterThan(100 * CLUSTERS);
});

/** What packets found open, as the matrix says, and a recording of some of them. */
async function recordedUnder(manifests: string, cluster: Cluster, some: readonly Flow[]) {
  const matrix = JSON.parse(asked('matrix', '--manifests', manifests, '-o', 'json'));
  const said = allowedByMatrix(matrix, cluster, FLOWS);
  const allowed = new Set(FLOWS.filter((_, at) => said[at]));
  await agents.follow(manifests);
  const open = new Set<Flow>();
  const look = async (flows: readonly Flow[]) => {
    for (const flow of await openOf(flows, allowed)) open.add(flow);
  };
  forgetAll(lab);
  const recordings = await recordedWhile(agents.clients, () => look(some));
  await look(FLOWS.filter(flow => !some.includes(flow)));
  expectSame(open, allowed);
  tally.open += open.size;
  tally.closed += FLOWS.length - open.size;
  return { open, recordings };
}

/** What other policies would make of what was recorded is what they make of it. */
async function expectReplay(files: readonly string[], next: string, cluster: Cluster, some: readonly Flow[]) {
  const replayed = linesOf(asked('replay', ...files, '--manifests', next, '-o', 'json'));
  await agents.follow(next);
  const open = await openOf(some, new Set(some));
  const fared = some.map(flow => `${namedText(cluster, flow)} ${wordOf(open.has(flow))}`);
  expect(replayed).toEqual([...new Set(fared)].sort());
}

/** What was seen open is allowed, and nothing else: to NetworkPolicy, nothing without a port, and no pod without labels of its own. */
async function expectSuggestion(suggested: string, cluster: Cluster, seen: readonly Flow[]) {
  expect((await loadManifests(suggested)).problems).toEqual([]);
  const groups = new Set(seen.map(flow => groupText(cluster, flow)));
  const nameless = new Set(
    [...cluster.pods.values()]
      .filter(({ labels }) => Object.keys(labels).every(key => key === REVISION))
      .flatMap(({ addresses }) => addresses),
  );
  const canBe = ({ from, to, port }: Flow) => port !== undefined && !nameless.has(from) && !nameless.has(to);
  const least = new Set(FLOWS.filter(flow => canBe(flow) && groups.has(groupText(cluster, flow))));
  await agents.follow(suggested);
  expectSame(await openOf(FLOWS, least), least);
}

function written(recording: Recording, index: number): string {
  const file = join(folder, `${index}.rec`);
  writeRecording(file, recording);
  return file;
}

function manifestsOf(name: string, ...lists: readonly (readonly object[])[]): string {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: lists.flat() }));
  return file;
}

/** Of what some of which is denied, exit codes say that it is. */
function asked(...words: string[]): string {
  const { stdout, stderr, status } = sluice(...words);
  if (status !== 0 && status !== 1) throw new Error(`${words.join(' ')}: ${stderr}`);
  return stdout;
}

async function openOf(flows: readonly Flow[], expected: ReadonlySet<Flow>): Promise<Set<Flow>> {
  const found = await tried(
    lab,
    flows,
    flows.map(flow => expected.has(flow)),
  );
  return new Set(flows.filter((_, at) => found[at]));
}

function expectSame(open: ReadonlySet<Flow>, expected: ReadonlySet<Flow>): void {
  const wrong = FLOWS.filter(flow => open.has(flow) !== expected.has(flow));
  expect(wrong.map(flow => `${text(flow)} ${wordOf(open.has(flow))}`)).toEqual([]);
}

/** The folder of a cluster whose policies are what is suggested of all its namespaces. */
function suggestedOf(world: readonly object[], files: readonly string[]): string {
  const suggested = join(folder, 'suggested');
  rmSync(suggested, { recursive: true, force: true });
  mkdirSync(suggested);
  const recorded = files.flatMap(file => ['--recorded', file]);
  for (const namespace of NAMESPACES)
    writeFileSync(join(suggested, `${namespace}.yaml`), asked('suggest', '-n', namespace, ...recorded));
  cpSync(manifestsOf('world', world), join(suggested, 'world.json'));
  return suggested;
}

type Ends = Pick<Flow, 'from' | 'to' | 'protocol' | 'port'>;
const wordOf = (isOpen: boolean) => (isOpen ? 'allow' : 'deny');
const text = ({ from, to, protocol, port = '' }: { [key in keyof Ends]: Ends[key] | string }) =>
  `${from} ${to} ${protocol} ${port}`;

function recordedTexts(recordings: readonly Recording[]): string[] {
  const { flows } = mergeRecordings(recordings);
  return flows
    .map(({ from, to, was, ...rest }) => `${text({ ...rest, from: from.address, to: to.address })} ${was}`)
    .sort();
}

/** One for both families, where they fare alike. */
function linesOf(replayed: string): string[] {
  const { connections } = JSON.parse(replayed) as { connections: (Ends & { verdict: string })[] };
  return [...new Set(connections.map(each => `${text(each)} ${each.verdict}`))].sort();
}

/** As people read it. */
function namedText({ pods, nodes }: Cluster, flow: Flow): string {
  const nameOf = (at: Address) => {
    const isOf = ({ addresses }: { readonly addresses: readonly Address[] }) => addresses.includes(at);
    const node = [...nodes.values()].find(isOf);
    return node ? `node/${node.name}` : ([...pods.values()].find(isOf)?.key ?? at);
  };
  return text({ ...flow, from: nameOf(flow.from), to: nameOf(flow.to) });
}

/** The same where the ends are the same addresses, or pods of the same labels but for a revision: a suggestion tells these apart by nothing else. */
function groupText({ pods }: Cluster, flow: Flow): string {
  const groupOf = (at: Address) => {
    const pod = [...pods.values()].find(({ addresses }) => addresses.includes(at));
    const own = Object.entries(pod?.labels ?? {}).filter(([key]) => key !== REVISION);
    return pod ? `${pod.namespace} ${JSON.stringify(own.sort())}` : at;
  };
  return text({ ...flow, from: groupOf(flow.from), to: groupOf(flow.to) });
}
