import { expect, test } from 'vitest';
import { problemNote } from '../../../model/problem.ts';
import { refusedMetadata } from './refusedmetadata.ts';

function refused(metadata: unknown, more: object = {}): string[] {
  const object = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, ...more };
  return refusedMetadata(object, 'NetworkPolicy shop/a').map(problemNote);
}

test.each<[object, string]>([
  [{ labels: { version: 1 } }, 'metadata.labels.version must be text, not 1: put it in quotes'],
  [
    { annotations: { on: true } },
    'metadata.annotations.on must be text, not true: put it in quotes (YAML also reads y, yes and on as true)',
  ],
  [{ labels: ['a'] }, 'metadata.labels must be a map, not a list'],
  [{ labels: { app: 'a b' } }, 'metadata.labels.app "a b" is not the value of a label'],
  [
    { labels: { 'a b': 'c' } },
    'metadata.labels.a b "a b" is not a key that a label or an annotation can have',
  ],
  [
    { annotations: { '/a': 'c' } },
    'metadata.annotations./a "/a" is not a key that a label or an annotation can have',
  ],
  [{ label: {} }, 'metadata.label is not a known field (did you mean labels?)'],
])('refusedMetadata() says what API servers refuse: %j', (metadata, text) => {
  expect(refused({ name: 'a', ...metadata })).toEqual([`${text}; API servers refuse the object`]);
});

test('refusedMetadata() says which release lost the status of a NetworkPolicy', () => {
  expect(refused({ name: 'a' }, { status: {} })).toEqual([
    'status is not a field any more since Kubernetes 1.28: remove it; API servers refuse the object',
  ]);
  expect(refused({ name: 'a' }, { kind: 'Pod', status: {} })).toEqual([]);
});

test('refusedMetadata() has nothing against what an API server has written, nor against annotations of any text', () => {
  const metadata = {
    name: 'a',
    namespace: 'shop',
    uid: 'b',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: null,
    labels: { 'app.kubernetes.io/name': 'web', empty: '' },
    annotations: { 'Example.com/Text': '{ "a": [1] }\n', none: null },
    managedFields: [],
    finalizers: ['a'],
    ownerReferences: [],
  };
  expect(refused(metadata)).toEqual([]);
  expect(refused(undefined)).toEqual([]);
});
