import { expect, test } from 'vitest';
import { address } from '../../bench/lab/topology.ts';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { inspectRuleset } from '../answers/readback/inspect.ts';
import { walkKernel } from '../answers/readback/kernelwalk.ts';
import { compile } from '../compiler/compile.ts';
import { evaluate } from '../semantics/evaluate.ts';
import { alsoAllows } from './tracetext.ts';

const pod = (name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { nodeName: n1, containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const policy = (name: string, rules: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: shop }, spec: { podSelector: { matchLabels: { app: db } }, policyTypes: [Ingress], ingress: [${rules}] } }`;

/** The text about a connection from web to db that follows the reason. */
function said(...policies: string[]): { also: string; named: string | undefined } {
  const objects = [
    '{ apiVersion: v1, kind: Node, metadata: { name: n1 } }',
    pod('web', '10.0.0.1'),
    pod('db', '10.0.0.2'),
  ];
  const { cluster } = clusterView([...objects, ...policies].join('\n---\n'));
  const flow = { from: address('10.0.0.1'), to: address('10.0.0.2'), protocol: 'TCP', port: 80 } as const;
  const ruleset = compile(cluster, 'n1');
  const { steps } = walkKernel(ruleset, flow, new Set());
  expect(inspectRuleset(ruleset).pods.map(({ pod }) => pod)).toContain('shop/db');
  const { ingress } = evaluate(cluster, flow);
  return { also: alsoAllows(ingress, 'ingress', steps), named: ingress.policy };
}

const WEB = '{ from: [{ podSelector: { matchLabels: { app: web } } }] }';
const ANY_ON_80 = '{ ports: [{ port: 80 }] }';

test('where the kernel asks another policy first than explain names, trace says so', () => {
  const cases = [
    said(policy('a', WEB), policy('b', ANY_ON_80)),
    said(policy('a', ANY_ON_80), policy('b', WEB)),
  ];
  expect(cases.map(({ named }) => named)).toEqual(['NetworkPolicy shop/a', 'NetworkPolicy shop/a']);
  expect(cases.map(({ also }) => also).filter(also => also !== '')).toEqual([
    '; so does shop/b ingress[0], whose rule the kernel asks first: any of them is enough',
  ]);
});

test('one policy, or none that allows, needs no word', () => {
  expect(said(policy('a', WEB)).also).toBe('');
  expect(said(policy('a', '')).also).toBe('');
  expect(said(policy('a', WEB), policy('b', '')).also).toBe('');
});
