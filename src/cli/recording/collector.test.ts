/**
 * A recording judges connections by the pods that had the addresses when they were made, whatever was looked up before
 * or later.
 */
import { beforeEach, expect, test, vi } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import type { AgentClient, FlowsMessage } from '../../api/rpc/client.ts';
import type { StatusResponse } from '../../api/rpc/messages.ts';
import { type ClusterEvent, ClusterState } from '../../model/cluster.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import { DnsCache } from '../../names/dnscache.ts';
import { ModelView } from '../../observe/denials/modelview.ts';
import { nameDenial } from '../../observe/denials/name.ts';
import { Namer } from '../../observe/flows/name.ts';
import { flowGroups } from '../../observe/recording/groups.ts';
import { recordingJudge } from '../../observe/recording/judge.ts';
import { mergeRecordings } from '../../observe/recording/merge.ts';
import { RecordingReader } from '../../observe/recording/read.ts';
import { countOf, openBefore, type Recording } from '../../observe/recording/recording.ts';
import { recordingLines } from '../../observe/recording/write.ts';
import { RecordingCollector } from './collect.ts';
import { groupLines } from './text.ts';

const [WEB, DB, OUTSIDE] = ['10.1.0.1', '10.1.0.2', '192.0.2.7'] as const;
let state: ClusterState;
let view: ModelView;
let facts: DnsCache;
let number: number;

beforeEach(() => {
  [state, facts, number] = [new ClusterState(), new DnsCache(), 0];
  const resolved = () => facts.asOf(Date.now());
  view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => 0, resolved });
  happens(nodeEvent('n1', ['172.18.0.1']), shopPod('shop/db', 'n1', [DB]));
});

function happens(...events: ClusterEvent[]): void {
  for (const event of events) {
    view.apply(event);
    state.apply(event);
  }
}

/** The same cluster, with DNS records that hold now. */
const agent = {
  status: async () => ({ node: 'n1', denies_unknown_pods: true, equal_at_ms: 1 }) as StatusResponse,
  state: async () => [
    ...[...state.nodes].map(([key, value]) => ({ type: 'node', key, json: JSON.stringify(value) })),
    ...[...state.pods].map(([key, value]) => ({ type: 'pod', key, json: JSON.stringify(value) })),
  ],
  names: async () => [],
  connections: async () => [],
} as Partial<AgentClient> as AgentClient;

/** A new connection as the agent sends it over the wire. */
function connects(from: string, to: string, port: number): FlowsMessage {
  const flow = { from: address(from), to: address(to), protocol: 'TCP', port } as const;
  const seen = { number: ++number, atMs: Date.now(), ...new Namer(view).name({ flow })! };
  return JSON.parse(JSON.stringify({ flows: [seen], denials: [], lost: 0, skipped: 0 }));
}

async function collector(): Promise<RecordingCollector> {
  const made = new RecordingCollector(agent);
  await made.begin(false);
  return made;
}

function verdicts(recording: Recording, ...events: ClusterEvent[]): string[] {
  const policies = new Map(events.map(({ value }) => [(value as Policy).id as PolicyId, value as Policy]));
  const judge = recordingJudge(recording, { policies });
  return recording.flows.map(flow => judge(flow).verdict);
}

const allowDb = (spec: object) =>
  shopPolicy('db', { podSelector: { matchLabels: { app: 'db' } }, policyTypes: ['Ingress'], ...spec });

test('a pod that lived between two looks is judged by its labels', async () => {
  const recorder = await collector();
  happens(shopPod('shop/web', 'n1', [WEB], { role: 'batch' }));
  const resolved = connects(WEB, DB, 80);
  happens({ type: 'pod', key: 'shop/web' });
  recorder.take(resolved);
  const recording = await recorder.part();
  expect(recording.flows[0]!.from.pod).toMatchObject({ key: 'shop/web', node: 'n1' });
  const from = (role: string) => [{ from: [{ podSelector: { matchLabels: { role } } }] }];
  expect(verdicts(recording, allowDb({ ingress: from('batch') }))).toEqual(['allow']);
  expect(verdicts(recording, allowDb({ ingress: from('web') }))).toEqual(['deny']);
});

test('labels and named ports that changed later count as they were', async () => {
  const web = (role: string) => shopPod('shop/web', 'n1', [WEB], { role });
  const db = (port: number): ClusterEvent => {
    const event = shopPod('shop/db', 'n1', [DB]);
    const ports = [{ name: 'sql', protocol: 'TCP', port }] as const;
    return event.type === 'pod' ? { ...event, value: { ...event.value!, ports } } : event;
  };
  happens(web('front'), db(5432));
  const recorder = await collector();
  const resolved = connects(WEB, DB, 5432);
  happens(web('back'), db(1));
  recorder.take(resolved);
  recorder.take(connects(WEB, DB, 1));
  const recording = await recorder.part();
  const rule = (role: string) => ({
    ingress: [{ from: [{ podSelector: { matchLabels: { role } } }], ports: [{ port: 'sql' }] }],
  });
  expect(verdicts(recording, allowDb(rule('front')))).toEqual(['allow', 'deny']);
  expect(verdicts(recording, allowDb(rule('back')))).toEqual(['deny', 'allow']);
});

test('what was denied has its ends as they were, too', async () => {
  const recorder = await collector();
  happens(shopPod('shop/web', 'n1', [WEB], { role: 'batch' }), allowDb({ ingress: [] }));
  const head = { from: address(WEB), to: address(DB), protocol: 'TCP', port: 80 } as const;
  const packet = { head: { ...head, fragment: false }, hook: 'forward', isOfLink: false } as const;
  const times = { number: 1, atMs: 1, lastMs: 1, times: 1 };
  const denial = { ...times, ...nameDenial(packet as never, view, () => undefined) };
  happens({ type: 'pod', key: 'shop/web' });
  recorder.take({ flows: [], denials: [denial], lost: 0, skipped: 0 });
  const recording = await recorder.part();
  expect(recording.flows.map(({ was, from }) => [was, from.pod?.labels])).toEqual([
    ['deny', { app: 'web', role: 'batch' }],
  ]);
});

test('a pod that was denied to reach itself through a Service still is', async () => {
  const closed = allowDb({ ingress: [] });
  happens(closed);
  const recorder = await collector();
  const head = { from: address(DB), to: address(DB), protocol: 'TCP', port: 80 } as const;
  const times = { number: 1, atMs: 1, lastMs: 1, times: 1 };
  const denial = { ...times, ...nameDenial({ head, hook: 'forward' }, view, () => undefined) };
  recorder.take({ flows: [], denials: [denial], lost: 0, skipped: 0 });
  expect(verdicts(await recorder.part(), closed)).toEqual(['deny']);
});

test('names that DNS had told, and that hold no more when somebody looks, are in it', async () => {
  happens(shopPod('shop/web', 'n1', [WEB]));
  const recorder = await collector();
  const nowMs = Date.now();
  const fact = { pod: 'shop/web', address: address(OUTSIDE), toldMs: nowMs } as const;
  facts.record([
    { ...fact, name: 'b.example', untilMs: nowMs + 60_000 },
    { ...fact, name: 'a.example', untilMs: nowMs + 60_000 },
    { ...fact, name: 'old.example', untilMs: nowMs - 1 },
  ]);
  const resolved = connects(WEB, OUTSIDE, 443);
  facts.retainOnly(new Set());
  recorder.take(resolved);
  recorder.take(connects(WEB, OUTSIDE, 443));
  const { flows } = await recorder.part();
  expect(flows.map(({ names }) => names)).toEqual([['a.example', 'b.example'], undefined]);
});

test('connections that were open before are counted apart from those that began', async () => {
  happens(shopPod('shop/web', 'n1', [WEB]), shopPod('far/away', 'n2', ['10.2.0.1']));
  const open = (from: string, count: number) => ({
    ...{ from, to: DB, protocol: 'TCP', port: 80, via_service: false },
    ...{ count, protocol_number: 6, has_port: true },
  });
  const made = new RecordingCollector({
    ...agent,
    connections: async () => [open(WEB, 3), open('10.2.0.1', 2)] as never,
  });
  await made.begin(false);
  made.take(connects(WEB, DB, 80));
  const recording = await made.part();
  expect(recording.flows.map(openBefore)).toEqual([3, 2]);
  expect(recording.flows.map(countOf)).toEqual([4, 2]);
  const reader = new RecordingReader();
  for (const line of recordingLines(recording)) reader.add(line);
  expect(reader.recording().flows.map(openBefore)).toEqual([3, 2]);
  const both = mergeRecordings([recording, reader.recording()]);
  expect(both.flows.map(openBefore)).toEqual([6, 4]);
  const judged = recording.flows.map(flow => ({ flow, verdict: recordingJudge(recording, state)(flow) }));
  const groups = flowGroups(judged, ({ pod }) => pod?.name ?? '');
  expect(groupLines(groups, '', false)[0]).toContain(
    'web -> db:80/TCP  4 connections (3 of them open before)',
  );
});

test('each part has what came since the one before, and what was lost', async () => {
  vi.useFakeTimers({ now: 5_000 });
  happens(shopPod('shop/web', 'n1', [WEB]));
  const recorder = await collector();
  recorder.take({ ...connects(WEB, DB, 80), lost: 2, skipped: 1 });
  vi.setSystemTime(6_000);
  const first = await recorder.part();
  recorder.take(connects(WEB, DB, 81));
  vi.setSystemTime(7_000);
  const second = await recorder.part();
  vi.useRealTimers();
  const shown = ({ fromMs, toMs, lost, flows }: Recording) => [
    fromMs,
    toMs,
    lost,
    flows.map(({ port }) => port),
  ];
  expect([first, second].map(shown)).toEqual([
    [5_000, 6_000, 3, [80]],
    [6_000, 7_000, 0, [81]],
  ]);
});
