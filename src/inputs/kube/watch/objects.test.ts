import { expect, test } from 'vitest';
import { apiClusterPolicy } from '../../../../test/support/api/objects.ts';
import { Objects } from './objects.ts';
import { CUSTOM_POLICIES, customResource } from './resource.ts';

const RESOURCE = customResource(CUSTOM_POLICIES[0]!, 'v1beta1');

function policy(
  name: string,
  resourceVersion: string,
  apiVersion = 'policy.networking.k8s.io/v1beta1',
): object {
  const object = apiClusterPolicy(name, 5);
  return { ...object, apiVersion, metadata: { ...object.metadata, resourceVersion } };
}

const keys = (events: readonly { readonly key: string }[]) => events.map(({ key }) => key);

test('clear() takes away what went with the definition, and nothing that came with the next one', () => {
  const objects = new Objects(RESOURCE);
  objects.upsert('old', policy('old', '9'));
  objects.upsert('young', policy('young', '100'));
  expect(keys(objects.clear('99'))).toEqual(['ClusterNetworkPolicy old']);
  expect(keys(objects.clear('unknown'))).toEqual(['ClusterNetworkPolicy young']);
  expect(objects.clear()).toEqual([]);
});

test('upsert() reads an unknown version as the one that it is told to', () => {
  const objects = new Objects(customResource(CUSTOM_POLICIES[0]!, 'v2', 'v1beta1'));
  expect(keys(objects.upsert('a', policy('a', '1', 'policy.networking.k8s.io/v2')))).toEqual([
    'ClusterNetworkPolicy a',
  ]);
  expect(objects.problems).toEqual([]);
});
