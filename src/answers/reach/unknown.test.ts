import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { diffMarkdown, diffObject } from './diff/difftext.ts';
import { diffOf } from './diff/diffview.ts';
import { matrixObject } from './rows.ts';
import { matrixViewOf } from './view.ts';

const deployment = (name: string) =>
  `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name}, namespace: shop }, spec: { template: { metadata: { labels: { app: ${name} } }, spec: { containers: [{ name: c }] } } } }`;
const node = (cidr: string) =>
  `{ apiVersion: v1, kind: Node, metadata: { name: n1 }, spec: { podCIDR: ${cidr} }, status: { addresses: [] } }`;
const open = (block: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop }, spec: { podSelector: { matchLabels: { app: db } }, ingress: [{ from: [{ ipBlock: ${block} }] }] } }`;
const cluster = (...objects: string[]) =>
  clusterView([deployment('web'), deployment('db'), ...objects].join('\n---\n'));

const PRIVATE = '10.0.0.0/8, 100.64.0.0/10, 172.16.0.0/12, 192.168.0.0/16';

test.each([
  [
    '{ cidr: 10.0.0.0/8 }',
    [],
    [`any address of ${PRIVATE}, and are judged as if theirs were outside 10.0.0.0/8`],
  ],
  [
    '{ cidr: 0.0.0.0/0, except: [10.0.0.0/8] }',
    [],
    [`any address of ${PRIVATE}, and are judged as if theirs were inside 0.0.0.0/0 except 10.0.0.0/8`],
  ],
  ['{ cidr: 0.0.0.0/0 }', [], []],
  ['{ cidr: 10.0.0.0/8 }', [node('10.244.1.0/24')], []],
  [
    '{ cidr: 10.244.1.128/25 }',
    [node('10.244.1.0/24')],
    ['any address of 10.244.1.0/24, and are judged as if theirs were outside 10.244.1.128/25'],
  ],
])(
  'where %s tells the addresses apart that pods may get, a note says how they are judged',
  (block, nodes, expected) => {
    const notes = expected.map(text => `pods without an address may have ${text}`);
    const state = cluster(open(block), ...nodes);
    expect(matrixViewOf(state, 'allow').notes).toEqual(notes);
    expect(diffOf(state, state, 'allow').notes).toEqual(notes);
  },
);

test('an answer counts what it looked at, and names the networks that the internet leaves out', () => {
  const [old, now] = [cluster(open('{ cidr: 10.0.0.0/8 }')), cluster(open('{ cidr: 192.168.0.0/16 }'))];
  const counts = { workloads: 2, policies: 1 };
  expect(matrixObject(matrixViewOf(old, 'allow'), [], [])).toMatchObject({
    counts,
    networks: ['10.0.0.0/8'],
  });
  const diff = diffOf(old, now, 'allow');
  expect(diffObject(diff, undefined, [])).toMatchObject({
    counts,
    networks: ['10.0.0.0/8', '192.168.0.0/16'],
  });
  expect(diffMarkdown(diffOf(old, old, 'allow'))).toEqual([
    '**No connection opens or closes (compared 2 workloads and 1 policy)**',
  ]);
});
