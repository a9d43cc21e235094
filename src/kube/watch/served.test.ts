import { expect, test } from 'vitest';
import { apiDefinition } from '../../../test/support/apiobjects.ts';
import { CUSTOM_POLICIES } from './resource.ts';
import { servedVersion } from './served.ts';

const [clusterNetworkPolicy] = CUSTOM_POLICIES;

test.each([
  ['the best version that is served', apiDefinition(['v1alpha2', 'v1beta1', 'v2']), { version: 'v1beta1' }],
  ['the only one that can be read', apiDefinition(['v1alpha2', 'v2']), { version: 'v1alpha2' }],
  [
    'no version where none can be read',
    apiDefinition(['v2', 'v3']),
    { type: 'unreadable', versions: ['v2', 'v3'] },
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
