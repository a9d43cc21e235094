import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { StatusResponse } from '../api/rpc/messages.ts';
import { wrapped } from '../terminal/hang.ts';
import { statusLines } from './status.ts';

const NOW = 1_000_000;
const STATUS: StatusResponse = {
  node: 'one',
  ready: false,
  synced: true,
  started_at_ms: NOW - 60_000,
  equal_at_ms: NOW,
  last_event_at_ms: NOW,
  pending_events: 2,
  lag_ms: 350,
  waiting_pods: 0,
  waiting_ms: 0,
  waiting_pod_names: [],
  waiting_policies: 0,
  waiting_policies_ms: 0,
  waiting_policy_names: [],
  policies: [],
  policies_in_all: 0,
  checks: [
    { name: 'last-commit', state: 'ok', reason: '3 operations', remedy: '' },
    { name: 'ip-forward', state: 'fail', reason: 'it is 0', remedy: 'sysctl -w' },
  ],
  commits: [{ at_ms: NOW - 4000, operations: 3, took_ms: 2, names: ['a', 'b', 'c', 'd'], repairs: false }],
  problems: [{ severity: 'error', object: 'NetworkPolicy shop/x', text: 'NetworkPolicy shop/x: is wrong' }],
  objects: { namespaces: 1, nodes: 2, pods: 3, policies: 4, audited: 0 },
  network_namespace: 'net:[1]',
  cuts_connections: true,
  denies_unknown_pods: false,
  totals: { commits: 1, failures: 0, operations: 3, drifts: 0 },
};

test.each([
  [{ pending_events: 0 }, 'nothing waits'],
  [{ waiting_pods: 0 }, '2 events on the way, for 350 ms'],
  [{ pending_events: 0, waiting_pods: 12 }, 'pods that wait for their turn: 12, the longest for 4 s'],
  [
    { waiting_pods: 12 },
    '2 events on the way, for 350 ms; pods that wait for their turn: 12, the longest for 4 s',
  ],
  [
    { pending_events: 0, waiting_pods: 2, waiting_pod_names: ['shop/web', 'shop/db'] },
    'pods that wait for their turn: 2 (shop/web, shop/db), the longest for 4 s',
  ],
  [
    {
      pending_events: 0,
      waiting_policies: 4,
      waiting_policies_ms: 9_000,
      waiting_policy_names: ['a', 'b', 'c', 'd'].map(name => `NetworkPolicy shop/${name}`),
    },
    'policies that wait for their turn: 4 (NetworkPolicy shop/a, NetworkPolicy shop/b, NetworkPolicy shop/c, …), the longest for 9 s',
  ],
])('statusLines() says what waits: %o', (changes, said) => {
  const lines = statusLines({ ...STATUS, waiting_ms: 4_000, ...changes }, NOW);
  expect(lines.find(line => line.startsWith('4 policies'))).toBe(
    `4 policies, 3 pods, 1 namespace, 2 nodes; ${said}`,
  );
});

test('statusLines() says whether the node is ready, why not, and what to do', () => {
  expect(statusLines(STATUS, NOW).map(line => wrapped(stripVTControlCharacters(line), undefined))).toEqual([
    'one is not ready, with a problem in what it reads; the agent has run for 60 s',
    '',
    '  ok       last-commit            3 operations',
    '  fail     ip-forward             it is 0',
    '                                  sysctl -w',
    '',
    '4 policies, 3 pods, 1 namespace, 2 nodes; 2 events on the way, for 350 ms',
    '1 commit, 0 failed, 0 repairs of foreign changes',
    '  4 s ago: 3 operations in 2 ms for a, b, c, …',
    '',
    '  error    NetworkPolicy shop/x: is wrong',
  ]);
});

test.each([
  [{ names: [], repairs: true }, 'for repair'],
  [{ names: [], repairs: false }, 'for what takes turns, or is made ready'],
])('statusLines() says what a commit was for that nobody asked for: %o', (its, said) => {
  const commits = [{ at_ms: NOW - 4000, operations: 3, took_ms: 2, ...its }];
  const lines = statusLines({ ...STATUS, commits }, NOW).map(stripVTControlCharacters);
  expect(lines).toContain(`  4 s ago: 3 operations in 2 ms ${said}`);
});

test('statusLines() shows the first twenty problems, and all where it is wide', () => {
  const problems = Array.from({ length: 25 }, (_, at) => ({
    severity: 'error' as const,
    object: `NetworkPolicy shop/p${at}`,
    text: `NetworkPolicy shop/p${at}: is wrong`,
  }));
  const about = (isWide: boolean) =>
    statusLines({ ...STATUS, problems }, NOW, isWide).filter(line => /is wrong|and \d+ more/.test(line));
  expect(about(false)).toHaveLength(21);
  expect(about(false).at(-1)).toBe('  and 5 more (-o wide lists them)');
  expect(about(true)).toHaveLength(25);
});
