import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';

const pod = (namespace: string, name: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${name} } }, spec: { containers: [{ name: c }] } }`;
const namespace = (name: string, labels: string) =>
  `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, labels: { ${labels} } } }`;
const PASS =
  '{ apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, metadata: { name: dev }, spec: { priority: 1, subject: { namespaces: {} }, ingress: [{ name: dev-decides, action: Pass, from: [{ namespaces: { matchLabels: { stage: dev } } }] }] } }';
const FROM_X =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: web, namespace: bank }, spec: { podSelector: {}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: x } } }] }] } }';

function asked(objects: readonly string[], more = {}) {
  const pods = [pod('night', 'cron'), pod('bank', 'web')];
  return answer(clusterView([...pods, ...objects].join('\n---\n'), more), {
    from: 'night/cron',
    to: 'bank/web:80',
  });
}

test('a verdict that does not depend on labels of a namespace is a verdict, and a note names the namespace', () => {
  const { verdict, notes } = asked([PASS]);
  expect(verdict).toBe('allow');
  expect(notes).toEqual([
    'the labels of namespaces bank and night are not known, as there is no Namespace object; the verdict is the same with any',
  ]);
});

test('a verdict that depends on them is undecided, and says on which', () => {
  const { verdict, reason, notes } = asked([FROM_X]);
  expect(verdict).toBe('undecided');
  expect(reason).toBe(
    'the labels of namespace night are not known, as there is no Namespace object: with team=x policy would allow this, with no label that a policy asks for it would deny it',
  );
  expect(notes).toEqual([]);
});

test('a Namespace object decides', () => {
  expect(asked([FROM_X, namespace('night', 'team: x')]).verdict).toBe('allow');
  expect(asked([FROM_X, namespace('night', 'team: z')])).toMatchObject({ verdict: 'deny', notes: [] });
});

test('the agent denies what it does not know, and an answer about its cluster says so', () => {
  const { cluster } = clusterView([pod('night', 'cron'), pod('bank', 'web'), FROM_X].join('\n---\n'));
  expect(asked([], { cluster: { ...cluster, seenBy: 'n1' } }).verdict).toBe('deny');
});
