/** Which pods that are not there yet a matrix lists; that each is as `evaluate` says is proven in test/property/newpods.test.ts. */

import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { wrongWith } from '../../../test/support/questions/schema.ts';
import { memberName } from '../../model/workload.ts';
import { cellText } from './connectionstext.ts';
import { diffObject, kindText } from './diff/difftext.ts';
import { diffOf } from './diff/diffview.ts';
import { exposureTexts, matrixObject, rowsOf } from './rows.ts';
import { matrixViewOf } from './view.ts';

const namespace = (name: string, team: string) =>
  `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, labels: { team: ${team}, kubernetes.io/metadata.name: ${name} } } }`;
const pod = (name: string, ip: string, port = '{ name: http, containerPort: 8080 }') =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: bank, labels: { app: ${name} } }, spec: { containers: [{ name: c, ports: [${port}] }] }, status: { podIP: ${ip} } }`;
const policy = (name: string, spec: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: bank }, spec: ${spec} }`;
const admin = (spec: string) =>
  `{ apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, metadata: { name: admin }, spec: ${spec} }`;
const LEDGER = pod('ledger', '10.0.0.1');
const TELLER = pod('teller', '10.0.0.2');
const ledgerFrom = (from: string, ports = '') =>
  policy(
    'ledger',
    `{ podSelector: { matchLabels: { app: ledger } }, policyTypes: [Ingress], ingress: [{ from: [${from}] ${ports} }] }`,
  );

const viewOf = (...objects: string[]) => matrixViewOf(clusterView(objects.join('\n---\n')), 'allow');

function listed(direction: 'ingress' | 'egress', workload: string, ...objects: string[]) {
  return exposureTexts(viewOf(...objects))
    .filter(each => each.direction === direction && each.members.map(memberName).includes(workload))
    .map(({ whom, connections }) => `${whom.join(', ')}: ${connections}`);
}

test('a selector that lets pods in is listed, whether or not a pod has such labels today', () => {
  const open = ledgerFrom(
    '{ namespaceSelector: { matchLabels: { team: a } } }, { podSelector: { matchLabels: { app: teller } } }',
  );
  const expected = ['all pods in namespaces team=a, pods app=teller in namespace bank: all'];
  expect(listed('ingress', 'bank/ledger', namespace('bank', 'b'), LEDGER, open)).toEqual(expected);
  expect(listed('ingress', 'bank/ledger', namespace('bank', 'b'), LEDGER, TELLER, open)).toEqual(expected);
  expect(listed('ingress', 'bank/ledger', namespace('bank', 'a'), LEDGER, TELLER, open)).toEqual([
    'all pods in namespaces team=a: all',
  ]);
});

test('a selector that gets less than others is listed with what is left', () => {
  const slytherin = admin(`{ priority: 1, subject: { namespaces: { matchLabels: { team: a } } }, ingress: [
    { name: some, action: Deny, from: [{ namespaces: { matchLabels: { house: slytherin } } }], ports: [{ portNumber: { protocol: TCP, port: 9090 } }] },
    { name: all, action: Allow, from: [{ namespaces: {} }] }] }`);
  expect(listed('ingress', 'bank/ledger', namespace('bank', 'a'), LEDGER, slytherin)).toEqual([
    'any other pod: all',
    'all pods in namespaces house=slytherin: all but TCP 9090',
  ]);
});

test('what policies of a new pod deny is listed, too', () => {
  const isolated = policy(
    'closed',
    '{ podSelector: { matchLabels: { app: vault } }, policyTypes: [Ingress] }',
  );
  expect(listed('egress', 'bank/ledger', namespace('bank', 'a'), LEDGER, isolated)).toEqual([
    'any other pod: all',
    'pods app=vault in namespace bank: none',
  ]);
});

test('a label that a selector excludes is listed apart', () => {
  const others = ledgerFrom(
    '{ podSelector: { matchExpressions: [{ key: app, operator: NotIn, values: [guest, robot] }] } }',
  );
  expect(listed('ingress', 'bank/ledger', namespace('bank', 'a'), LEDGER, others)).toEqual([
    'all pods in namespace bank: all',
    'pods app in (guest, robot) in namespace bank: none',
  ]);
});

test('ports of new pods are listed by the names that rules have', () => {
  const egress = policy(
    'named',
    '{ podSelector: { matchLabels: { app: ledger } }, policyTypes: [Egress], egress: [{ to: [{ podSelector: { matchLabels: { app: teller } } }], ports: [{ port: http }, { port: 90 }] }] }',
  );
  const objects = [namespace('bank', 'a'), LEDGER, TELLER, egress];
  expect(listed('egress', 'bank/ledger', ...objects)).toEqual([
    'pods app=teller in namespace bank: TCP 90,http',
  ]);
  const view = viewOf(...objects);
  const { exposures } = matrixObject(
    view,
    rowsOf(view, () => true),
    [],
  ) as { exposures: { ipv4: object }[] };
  expect(exposures.map(({ ipv4 }) => ipv4)).toContainEqual(
    expect.objectContaining({ tcp: [[90, 90]], named: ['TCP http'] }),
  );
  expect(JSON.stringify(rowsOf(view, () => true).map(({ cell }) => cell))).not.toContain('65537');
});

test('what depends on labels of a namespace that is not known is undecided, and a note names it', () => {
  const job =
    '{ apiVersion: v1, kind: Pod, metadata: { name: job, namespace: night, labels: { app: job } }, spec: { containers: [{ name: c }] } }';
  const open = ledgerFrom('{ namespaceSelector: { matchLabels: { team: a } } }');
  const view = viewOf(LEDGER, job, open);
  const rows = rowsOf(view, () => true);
  const toLedger = rows.find(
    ({ from, to }) => from.members[0] === 'Pod night/job' && to.members[0] === 'Pod bank/ledger',
  );
  expect(cellText(view.pool, toLedger!.cell)).toBe('undecided all');
  expect(view.notes).toEqual([
    'the labels of namespaces bank, night are not known, as there is no Namespace object: what depends on them is listed as undecided',
  ]);
  expect(wrongWith(matrixObject(view, rows, []) as { kind: string })).toEqual([]);
  const known = viewOf(LEDGER, job, open, namespace('bank', 'b'), namespace('night', 'a'));
  expect(known.notes).toEqual([]);
  expect(rowsOf(known, () => true).every(({ cell }) => cell.undecided === undefined)).toBe(true);
});

test('what may open or close by labels that are not known is said so in a comparison', () => {
  const world = (...objects: string[]) => clusterView([LEDGER, TELLER, ...objects].join('\n---\n'));
  const diff = diffOf(
    world(ledgerFrom('{ podSelector: {} }')),
    world(ledgerFrom('{ namespaceSelector: { matchLabels: { team: a } } }')),
    'allow',
  );
  const texts = diff.changes.map(change => `${kindText(change)} ${change.from} -> ${change.to}`);
  expect(texts).toContain('may close Pod bank/teller -> Pod bank/ledger');
  expect(texts).toContain('opens all pods in namespaces team=a -> Pod bank/ledger');
  expect(wrongWith(diffObject(diff, undefined, diff.notes) as { kind: string })).toEqual([]);
});
