/** What is undecided of a matrix and a comparison where only the policies of some namespaces could be read. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { cellText } from './connectionstext.ts';
import { diffOf } from './diff/diffview.ts';
import { exposureTexts, rowsOf } from './rows.ts';
import { matrixViewOf } from './view.ts';

const pod = (namespace: string, name: string, address: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${name} } }, status: { podIP: ${address} } }`;
const PODS = [pod('shop', 'web', '10.1.0.1'), pod('shop', 'db', '10.1.0.2'), pod('ops', 'probe', '10.1.0.3')];
const NODE =
  '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 192.168.0.1 }] } }';
const db = (port: number, ...from: string[]) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop }, spec: { podSelector: { matchLabels: { app: db } }, policyTypes: [Ingress, Egress], ingress: [{ from: [${from}], ports: [{ port: ${port} }] }] } }`;
const WEB = '{ podSelector: { matchLabels: { app: web } } }';
const PROBE = '{ namespaceSelector: {}, podSelector: { matchLabels: { app: probe } } }';
const cluster = (...objects: string[]) => clusterView([...PODS, NODE, ...objects].join('\n---\n'));

function listed(sureOf?: readonly string[]) {
  const view = matrixViewOf(cluster(db(80, WEB, PROBE)), 'allow', sureOf);
  const rows = rowsOf(view, ({ members }) => members.includes('Pod shop/db'));
  const lines = rows.map(
    ({ from, to, cell }) => `${from.members} -> ${to.members}: ${cellText(view.pool, cell)}`,
  );
  const coming = exposureTexts(view).map(({ direction, members, whom, connections }) =>
    [direction, members.join(), whom.join(), connections].join(' '),
  );
  return { lines: lines.sort(), coming, isolated: [...view.isolation.keys()].sort() };
}

test('a matrix is sure of pairs of the known namespace, its nodes and what is outside', () => {
  expect(listed().lines).toEqual(['Pod ops/probe,Pod shop/web -> Pod shop/db: TCP 80']);
  const { lines, isolated } = listed(['shop']);
  expect(lines).toEqual([
    'Pod ops/probe -> Pod shop/db: undecided TCP 80',
    'Pod shop/web -> Pod shop/db: TCP 80',
  ]);
  expect(isolated).toEqual(['Pod shop/db', 'Pod shop/web']);
  expect(listed([]).lines.filter(line => !line.includes(': undecided '))).toEqual([]);
  expect(listed([]).isolated).toEqual([]);
});

test('pods that are not there yet are sure where a selector is of the known namespace alone', () => {
  expect(listed(['shop']).coming).toEqual(
    expect.arrayContaining([
      'ingress Pod shop/db pods app=web in namespace shop TCP 80',
      expect.stringMatching(/^ingress Pod shop\/db .*app=probe.* undecided TCP 80$/),
    ]),
  );
});

test('a comparison is in two where the ends of a change are of a known and of another namespace', () => {
  const changes = (sureOf?: readonly string[]) =>
    diffOf(cluster(db(80, WEB)), cluster(db(90, WEB, PROBE)), 'allow', () => true, sureOf)
      .changes.filter(({ from }) => from.some(each => /^Pod/.test(each)))
      .map(({ kind, from, undecided }) => `${undecided ? 'may ' : ''}${kind} ${from}`)
      .sort();
  const ofOps = 'Pod ops/probe,pods app=probe in all namespaces';
  expect(changes()).toEqual(['closes Pod shop/web', `opens ${ofOps.replace(',', ',Pod shop/web,')}`]);
  expect(changes(['shop'])).toEqual(['closes Pod shop/web', `may opens ${ofOps}`, 'opens Pod shop/web']);
  expect(changes([]).every(line => line.startsWith('may '))).toBe(true);
});
