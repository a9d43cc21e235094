/** What kubelet and Prometheus see. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { StatusKeeper } from '../../src/agent/status.ts';
import { NO_NAMES } from '../../src/api/health/namescheck.ts';
import { serveHttp } from '../../src/api/rpc/http.ts';
import { type HttpServer, parseListenAddress } from '../../src/api/rpc/listener.ts';
import { makeMetrics } from '../../src/api/rpc/metrics.ts';
import type { DnsTotals } from '../../src/api/rpc/namesmetrics.ts';
import type { Host } from '../../src/kernel/host/facts.ts';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import { HEALTHY_HOST } from '../support/agent/healthyhost.ts';
import { testView } from '../support/agent/view.ts';

const IDENTITY = { networkNamespace: 'net:[1]', cutsConnections: true };
const HOST: Host = { ...HEALTHY_HOST, foreignRules: { unreadable: 'hidden' } };
const EVENT: ClusterEvent = { type: 'namespace', key: 'shop', value: { name: 'shop', labels: {} } };

const NAMES: DnsTotals = {
  restarts: 1,
  waitBucketsUs: [50, 1_000],
  counts: {
    learnt: 5,
    passed: 3,
    unread: 2,
    overBudget: 8,
    untaken: 0,
    evicted: 4,
    overruns: 6,
    addresses: 9,
    isQueueing: true,
    waits: [7, 2, 1],
    waitedUs: 2_500_000,
  },
};

let names: DnsTotals;
let keeper: StatusKeeper;
let server: HttpServer;

beforeEach(async () => {
  keeper = new StatusKeeper('one');
  names = { restarts: 0, waitBucketsUs: NAMES.waitBucketsUs };
  const view = testView({
    identity: IDENTITY,
    status: keeper,
    readHost: async () => HOST,
    liveConnections: { counts: { cut: 7 } },
    dns: { status: () => NO_NAMES, latest: async () => undefined, totals: () => names },
  });
  const metrics = makeMetrics(view);
  server = await serveHttp({ address: '127.0.0.1:0', view, metrics });
});

afterEach(() => server.close());

function follow(): void {
  const cluster = new ClusterState();
  cluster.apply(EVENT);
  cluster.apply({
    type: 'node',
    key: 'one',
    value: { name: 'one', labels: {}, addresses: [], podCidrs: [] },
  });
  keeper.setSynced();
  keeper.noted([EVENT, EVENT]);
  keeper.committing();
  keeper.committed({
    cluster,
    ops: [{ op: 'delTable', family: 'ip' }],
    names: [],
    tookMs: 1,
    dumped: true,
    waitingPods: new Set(),
  });
}

const get = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`);

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? (-?[0-9.e+-]+|NaN|[+-]Inf)$/;

/** Prometheus' text format: comments, and lines of a name, labels and a number. Throws on anything else. */
async function scrape(): Promise<Map<string, number>> {
  const lines = (await (await get('/metrics')).text()).split('\n').filter(line => line !== '');
  const samples = new Map<string, number>();
  for (const line of lines.filter(line => !line.startsWith('#'))) {
    const found = LINE.exec(line);
    if (found === null) throw new Error(`not a sample: ${line}`);
    samples.set(found[1]! + (found[2] ?? ''), Number(found[3]!.replace('Inf', 'Infinity')));
  }
  return samples;
}

describe('/metrics', () => {
  test('is text that Prometheus parses, with the figures of the agent', async () => {
    follow();
    keeper.onProblems([
      { severity: 'error', object: 'NetworkPolicy shop/x', message: 'is wrong', effect: 'it denies' },
    ]);
    const samples = await scrape();
    expect(Object.fromEntries(samples)).toMatchObject({
      sluice_commits_total: 1,
      sluice_operations_total: 1,
      sluice_commit_failures_total: 0,
      sluice_drift_repairs_total: 0,
      sluice_connections_cut_total: 7,
      sluice_watch_restarts_total: 0,
      sluice_event_to_kernel_seconds_count: 2,
      sluice_reconcile_lag_seconds: 0,
      sluice_ready: 1,
      'sluice_objects{kind="namespaces"}': 1,
      sluice_quarantined_policies: 0,
      'sluice_problems{kind="NetworkPolicy",severity="error"}': 1,
      'sluice_check{check="last-commit",state="ok"}': 1,
      'sluice_check{check="foreign-enforcer",state="unknown"}': 1,
    });
  });

  test('has the age of what waits for its turn beside the lag, which nobody lets grow by it', async () => {
    follow();
    const { cluster } = keeper;
    keeper.noted([{ type: 'pod', key: 'shop/far' }]);
    keeper.committing([{ id: 'NetworkPolicy shop/x', kind: 'pending', change: 'edit', sinceMs: 0 }]);
    const waitingPods = new Set(['shop/far'] as const);
    keeper.committed({ cluster, ops: [], names: [], tookMs: 1, dumped: false, waitingPods });
    const samples = await scrape();
    expect(samples.get('sluice_waiting_pods')).toBe(1);
    expect(samples.get('sluice_waiting_policies')).toBe(1);
    expect(samples.get('sluice_waiting_seconds')).toBeGreaterThan(0);
    expect(samples.get('sluice_reconcile_lag_seconds')).toBe(0);
    expect(samples.get('sluice_event_to_kernel_seconds_count')).toBe(2);
  });

  test('counts on and never twice, however often it is scraped', async () => {
    follow();
    await scrape();
    await scrape();
    follow();
    keeper.drifted();
    const samples = await scrape();
    expect(samples.get('sluice_commits_total')).toBe(2);
    expect(samples.get('sluice_event_to_kernel_seconds_count')).toBe(4);
    expect(samples.get('sluice_drift_repairs_total')).toBe(1);
  });

  test('has the lag of an event that is not in the kernel yet', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    keeper.noted([EVENT]);
    vi.advanceTimersByTime(20);
    expect((await scrape()).get('sluice_reconcile_lag_seconds')).toBeCloseTo(0.02);
  });

  test('has what became of answers of DNS, and says zero where nobody hears', async () => {
    expect((await scrape()).get('sluice_names_answer_wait_seconds_bucket{le="+Inf"}')).toBe(0);
    names = NAMES;
    await scrape();
    expect(Object.fromEntries(await scrape())).toMatchObject({
      'sluice_names_answers_total{outcome="learnt"}': 5,
      'sluice_names_answers_total{outcome="passed"}': 3,
      'sluice_names_answers_total{outcome="unread"}': 2,
      sluice_names_evictions_total: 4,
      sluice_names_over_budget_total: 8,
      sluice_names_overruns_total: 6,
      sluice_names_untaken_total: 0,
      sluice_names_restarts_total: 1,
      sluice_names_addresses: 9,
      sluice_names_hearing: 1,
      'sluice_names_answer_wait_seconds_bucket{le="0.00005"}': 7,
      'sluice_names_answer_wait_seconds_bucket{le="0.001"}': 9,
      'sluice_names_answer_wait_seconds_bucket{le="+Inf"}': 10,
      sluice_names_answer_wait_seconds_sum: 2.5,
      sluice_names_answer_wait_seconds_count: 10,
    });
  });

  test('forgets a problem that was mended', async () => {
    keeper.onProblems([{ severity: 'error', object: 'NetworkPolicy shop/x', message: 'm', effect: 'e' }]);
    await scrape();
    keeper.onProblems([]);
    expect([...(await scrape()).keys()].filter(name => name.startsWith('sluice_problems'))).toEqual([]);
  });

  test('tells counts and states, and no name of what is in the cluster', async () => {
    follow();
    keeper.onProblems([
      { severity: 'error', object: 'NetworkPolicy shop/secret', message: 'secret', effect: 'secret' },
    ]);
    const text = await (await get('/metrics')).text();
    expect(text).toContain('sluice_problems{');
    expect(text).not.toMatch(/shop|secret/);
  });

  test('names follow the conventions: counters end in _total, durations are in seconds', async () => {
    const text = await (await get('/metrics')).text();
    const types = [...text.matchAll(/^# TYPE (sluice_\S+) (\S+)$/gm)].map(([, name, type]) => ({
      name,
      type,
    }));
    expect(types.length).toBeGreaterThan(8);
    expect(types.filter(({ name, type }) => (type === 'counter') !== name!.endsWith('_total'))).toEqual([]);
    expect(types.filter(({ name }) => /(_ms|milliseconds)/.test(name!))).toEqual([]);
  });
});

describe('health', () => {
  test('/livez is ok although the node is not ready', async () => {
    expect((await get('/livez')).status).toBe(200);
    expect((await get('/readyz')).status).toBe(503);
  });

  test('/readyz is ok once the rules are in force, and says each check', async () => {
    follow();
    const answer = await get('/readyz');
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('unknown foreign-enforcer: hidden');
  });

  test('anything else is not found', async () => {
    expect((await get('/etc/passwd')).status).toBe(404);
  });
});

test.each([
  ['127.0.0.1:9910', { host: '127.0.0.1', port: 9910 }],
  ['[::1]:80', { host: '::1', port: 80 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
])('parseListenAddress(%s)', (text, parsed) => {
  expect(parseListenAddress(text)).toEqual(parsed);
});

test.each(['9910', '127.0.0.1', '::1:80', '127.0.0.1:65536', ':80', ''])(
  'parseListenAddress(%s) is refused by name',
  text => {
    expect(() => parseListenAddress(text)).toThrow(RangeError);
  },
);
