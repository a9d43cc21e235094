import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { cellText } from './connectionstext.ts';
import { diffMarkdown, diffObject, kindText } from './diff/difftext.ts';
import { diffOf } from './diff/diffview.ts';
import { matrixObject, rowsOf } from './rows.ts';
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
    [`any address of ${PRIVATE}: what depends on whether it is in 10.0.0.0/8 is listed`],
  ],
  [
    '{ cidr: 0.0.0.0/0, except: [10.0.0.0/8] }',
    [],
    [`any address of ${PRIVATE}: what depends on whether it is in 0.0.0.0/0 except 10.0.0.0/8 is listed`],
  ],
  ['{ cidr: 0.0.0.0/0 }', [], []],
  ['{ cidr: 10.0.0.0/8 }', [node('10.244.1.0/24')], []],
  [
    '{ cidr: 10.244.1.128/25 }',
    [node('10.244.1.0/24')],
    ['any address of 10.244.1.0/24: what depends on whether it is in 10.244.1.128/25 is listed'],
  ],
])('where %s tells the addresses apart that pods may get, a note says so', (block, nodes, expected) => {
  const notes = (listed: string) =>
    expected.map(text => `pods without an address may have ${text} ${listed}`);
  const state = cluster(open(block), ...nodes);
  expect(matrixViewOf(state, 'allow').notes).toEqual(notes('as undecided'));
  expect(diffOf(state, state, 'allow').notes).toEqual(notes('as what may open or close'));
});

test('what depends on the address that a pod will have is undecided, and a node settles it', () => {
  const toDb = (...objects: string[]) => {
    const view = matrixViewOf(cluster(...objects), 'allow');
    const row = rowsOf(view, () => true).find(
      ({ from, to }) => from.members[0] === 'Deployment shop/web' && to.members[0] === 'Deployment shop/db',
    );
    return cellText(view.pool, row?.cell ?? {});
  };
  const block = open('{ cidr: 10.0.0.0/8 }');
  expect(toDb(block)).toBe('IPv4 undecided all | IPv6 none');
  expect(toDb(open('{ cidr: 0.0.0.0/0 }'))).toBe('IPv4 all | IPv6 none');
  expect(toDb(block, node('10.244.1.0/24'))).toBe('IPv4 all | IPv6 none');
  expect(toDb(block, node('192.168.1.0/24'))).toBe('none');
});

test('a network that only a pod with this address is in does not tell pods apart that come', () => {
  const pod =
    '{ apiVersion: v1, kind: Pod, metadata: { name: one, namespace: shop }, spec: { nodeName: n1, containers: [{ name: c }] }, status: { podIP: 10.244.1.5 } }';
  const view = matrixViewOf(cluster(open('{ cidr: 10.244.1.5/32 }'), node('10.244.1.0/24'), pod), 'allow');
  expect(view.notes).toEqual([]);
});

test('what opens at one address and closes at another may do both in a comparison', () => {
  const { changes } = diffOf(
    cluster(open('{ cidr: 10.0.0.0/8 }')),
    cluster(open('{ cidr: 192.168.0.0/16 }')),
    'allow',
  );
  const texts = changes.map(change => `${kindText(change)} ${change.from} -> ${change.to}`);
  expect(texts).toContain(
    'may open Deployment shop/db,Deployment shop/web,any other pod -> Deployment shop/db',
  );
  expect(texts).toContain(
    'may close Deployment shop/db,Deployment shop/web,any other pod -> Deployment shop/db',
  );
});

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
