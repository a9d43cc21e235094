/** The facts of `sluice coverage` as a column of the matrix. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { coverageOf } from '../coverage/coverage.ts';
import { csvLines, dotLines, htmlLines, markdownLines } from './documents.ts';
import { isolationText, legendOf, matrixObject, rowsOf } from './rows.ts';
import { matrixViewOf } from './view.ts';

const deployment = (app: string) =>
  `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${app}, namespace: shop }, spec: { template: { metadata: { labels: { app: ${app} } }, spec: { containers: [] } } } }`;
const policy = (app: string, spec: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${app}, namespace: shop }, spec: { podSelector: { matchLabels: { app: ${app} } }, ${spec} } }`;
const all =
  '[{ ports: [{ protocol: TCP }] }, { ports: [{ protocol: UDP }] }, { ports: [{ protocol: SCTP }] }]';
const state = clusterView(
  [
    ...['open', 'closed', 'sends', 'answers'].map(deployment),
    policy('closed', 'policyTypes: [Ingress, Egress]'),
    policy('sends', 'policyTypes: [Ingress]'),
    policy('answers', 'policyTypes: [Egress]'),
  ].join('\n---\n'),
);
const view = matrixViewOf(state, 'allow');
const rows = rowsOf(view, () => true);
const textOf = (name: string) =>
  isolationText(view, view.ends.find(({ members }) => members.includes(name))!);

test('an end says in which directions its workloads are isolated, and others say nothing', () => {
  expect(['closed', 'sends', 'answers', 'open'].map(app => textOf(`Deployment shop/${app}`))).toEqual([
    'both',
    'ingress',
    'egress',
    'no',
  ]);
  expect(textOf('internet')).toBe('');
  expect(legendOf(view)).toContain('2 of 4 workloads are isolated for ingress and 2 for egress');
});

test('workloads that reach the same and are isolated differently are counted', () => {
  const same = clusterView(
    [deployment('one'), deployment('two'), deployment('three'), policy('one', 'egress: [{}]')].join(
      '\n---\n',
    ),
  );
  const wide = clusterView(
    [deployment('one'), deployment('two'), policy('one', `ingress: ${all}, policyTypes: [Ingress]`)].join(
      '\n---\n',
    ),
  );
  const ends = (of: typeof same) => {
    const found = matrixViewOf(of, 'allow');
    return found.ends.map(end => isolationText(found, end)).filter(text => text !== '');
  };
  expect(ends(same)).toEqual(['ingress', 'no']);
  // ICMP tells these apart, so they are two ends.
  expect(ends(wide)).toEqual(['ingress', 'no']);
  const first = view.ends.find(({ members }) => members.includes('Deployment shop/sends'))!;
  const together = { ...first, members: ['Deployment shop/sends', 'Deployment shop/closed'] };
  expect(isolationText(view, together)).toBe('ingress, egress of 1 of 2');
});

test('it is what sluice coverage says', () => {
  const { workloads } = coverageOf(state.cluster, state.inventory, () => true);
  expect([...view.isolation.values()]).toEqual(workloads);
  expect(matrixObject(view, rows, [])).toMatchObject({ workloads });
});

test('every format has it', () => {
  const csv = [...csvLines(view, rows)];
  expect(csv[0]).toBe('from,to,ipv4,ipv6,egress of from,ingress of to');
  expect(csv).toContain('shop/sends,shop/open,all,all,open,open');
  expect(csv).toContain('internet,shop/open,all,all,,open');
  expect(csv).toContain('shop/open,shop/answers,all,all,open,open');
  expect(csv.every(line => /,(isolated|open|),(isolated|open|)$/.test(line) || line === csv[0])).toBe(true);
  expect(markdownLines(view, rows)).toContain('| shop/sends | ingress |');
  expect(dotLines(view, rows).join('\n')).toContain('label="shop/answers\\nisolated: egress"');
  expect(htmlLines(view, rows, 'a test').join('\n')).toContain('</th><td>ingress</td>');
});
