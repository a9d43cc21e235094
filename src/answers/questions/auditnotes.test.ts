import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';

const pod = (name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const policy = (name: string, enforcement: string, app: string, ...from: string[]) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: shop, annotations: { sluice.dev/enforcement: ${enforcement} } }, spec: { podSelector: { matchLabels: { app: ${app} } }, policyTypes: [Ingress], ingress: [${from.map(each => `{ from: [{ podSelector: { matchLabels: { app: ${each} } } }] }`)}] } }`;
const PODS = [pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), pod('api', '10.0.0.3')];
const asked = (...policies: string[]) =>
  answer(clusterView([...PODS, ...policies].join('\n---\n')), { from: 'shop/web', to: 'shop/db:5432' });

test.each([
  [
    'would deny',
    [policy('db', 'audit', 'db')],
    'allow',
    ['NetworkPolicy shop/db would deny this: it is audited, not enforced'],
  ],
  [
    'would allow',
    [policy('closed', 'enforce', 'db'), policy('open', 'audit', 'db', 'web')],
    'deny',
    ['NetworkPolicy shop/open would allow this: it is audited, not enforced'],
  ],
  ['is not about it', [policy('api', 'audit', 'api')], 'allow', []],
  ['agrees', [policy('db', 'audit', 'db', 'web')], 'allow', []],
  [
    'is allowed by another that is audited',
    [policy('closed', 'audit', 'db'), policy('open', 'audit', 'db', 'web')],
    'allow',
    [
      'NetworkPolicy shop/closed would deny this: it is audited, not enforced',
      'all 2 audited policies on it together would not change this',
    ],
  ],
] as const)('explain says of an audited policy that it %s', (_, policies, verdict, notes) => {
  const found = asked(...policies);
  expect([found.verdict, found.notes]).toEqual([verdict, notes]);
});
