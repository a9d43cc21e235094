import { expect, test, vi } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import type { PolicyIndex } from '../../semantics/policyindex.ts';
import { ask } from './ask.ts';

const pod = (name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const known = clusterView(
  [
    pod('web', '10.0.0.1'),
    pod('db', '10.0.0.2'),
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop }, spec: { podSelector: { matchLabels: { app: db } } } }',
  ].join('\n---\n'),
);
const built = vi.hoisted(() => ({ count: 0 }));
vi.mock('../../semantics/policyindex.ts', async original => {
  const real = await original<{ PolicyIndex: typeof PolicyIndex }>();
  class Counted extends real.PolicyIndex {
    constructor(...policies: ConstructorParameters<typeof PolicyIndex>) {
      super(...policies);
      built.count++;
    }
  }
  return { ...real, PolicyIndex: Counted };
});

test('ask() sorts the policies once, however many questions there are', () => {
  const questions = (many: number) =>
    Array.from({ length: many }, (_, i) => ({ from: 'web', to: `db:${i + 1}` }));
  const asked = ask(known, questions(20));
  expect(asked.map(each => 'answer' in each && each.answer.verdict)).toEqual(Array(20).fill('deny'));
  expect(built.count).toBe(1);
});
