import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { boardOf, type Try } from './board.ts';
import { readServices } from './service.ts';

const folder = fileURLToPath(new URL('../../examples/shop', import.meta.url));
const { cluster } = await loadManifests(folder);
const services = await readServices(folder, cluster);
const board = boardOf(cluster, services);

const cell = (row: string, column: string): Try[] =>
  board.tries.filter(one => one.row.label === row && one.column.label === column);
const verdicts = (row: string, column: string) => [
  ...new Set(cell(row, column).map(one => one.expected.verdict)),
];

test('readServices() finds the pod behind a Service by its labels and its named port', () => {
  expect(services).toEqual([
    {
      key: 'shop/web',
      front: ['10.96.0.80', 'fd00:96::80'],
      port: 80,
      protocol: 'TCP',
      backend: ['10.244.1.10', 'fd00:244:0:1::10'],
      targetPort: 80,
    },
  ]);
});

test('boardOf() has a row for each pod, a node and the Internet, and fits into 80 columns', () => {
  expect(board.rows).toHaveLength(cluster.pods.size + 2);
  const width = Math.max(...board.rows.map(({ label }) => label.length)) + 2 + board.columns.length * 6;
  expect(width).toBeLessThanOrEqual(80);
});

test('boardOf() tries four protocols over two families in a cell', () => {
  expect(cell('shop/api', 'shop/db').map(({ protocol, family }) => `${protocol} ${family}`)).toEqual([
    'TCP ip',
    'TCP ip6',
    'UDP ip',
    'UDP ip6',
    'SCTP ip',
    'SCTP ip6',
    'ICMP ip',
    'ICMP ip6',
  ]);
});

test('boardOf() sends through a Service to its address, and expects what policy says of the pod behind', () => {
  const tries = cell('guest/visitor', 'service shop/web');
  expect(tries.map(({ probe }) => probe.via?.address)).toEqual(['10.96.0.80', 'fd00:96::80']);
  expect(tries.map(({ probe }) => probe.to)).toEqual(['10.244.1.10', 'fd00:244:0:1::10']);
  expect(verdicts('guest/visitor', 'service shop/web')).toEqual(['allow']);
  expect(verdicts('shop/jobs', 'service shop/web')).toEqual(['deny']);
});

test('boardOf() tries nothing from one to itself, and nothing that meets no pod', () => {
  expect(cell('shop/db', 'shop/db')).toEqual([]);
  expect(cell('the internet', 'metadata service')).toEqual([]);
  expect(cell('node1 itself', 'service shop/web')).toEqual([]);
});

test('boardOf() expects that nobody of the shop reaches the metadata service', () => {
  for (const { key } of cluster.pods.values())
    if (key.startsWith('shop/')) expect(verdicts(key, 'metadata service'), key).toEqual(['deny']);
});
