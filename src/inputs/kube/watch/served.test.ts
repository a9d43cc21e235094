import { expect, test } from 'vitest';
import { apiDefinition } from '../../../../test/support/api/objects.ts';
import { CUSTOM_POLICIES, servedVersion } from './resource.ts';

const [clusterNetworkPolicy] = CUSTOM_POLICIES;

test.each([
  ['the best version that is served', apiDefinition(['v1alpha2', 'v1beta1', 'v2']), { version: 'v1beta1' }],
  ['the only one that can be read', apiDefinition(['v1alpha2', 'v2']), { version: 'v1alpha2' }],
  [
    'the version that is most like ours where none is known, and as what to read it',
    apiDefinition(['v3', 'v1', 'v2', 'v1beta9']),
    { version: 'v1', readAs: 'v1beta1' },
  ],
  ['a beta version before an alpha', apiDefinition(['v2alpha1', 'v2beta1']), { version: 'v2beta1' }],
  [
    'no version where none is one',
    apiDefinition(['../v1', 'next']),
    { type: 'unreadable', versions: ['../v1', 'next'] },
  ],
  [
    'no version before the names are accepted',
    apiDefinition(['v1beta1'], false),
    { type: 'unreadable', versions: [] },
  ],
  ['nothing of a definition without a status', { spec: {} }, { type: 'unreadable', versions: [] }],
  ['that there is none', undefined, { type: 'nowhere' }],
])('servedVersion() gives %s', (_, definition, expected) => {
  expect(servedVersion(definition, clusterNetworkPolicy!)).toMatchObject(expected);
});

test('servedVersion() passes over a version that is defined and not served', () => {
  const definition = apiDefinition(['v1beta1', 'v1alpha2']);
  const { versions } = definition.spec as { versions: { name: string; served: boolean }[] };
  versions[0]!.served = false;
  expect(servedVersion(definition, clusterNetworkPolicy!)).toMatchObject({ version: 'v1alpha2' });
});
