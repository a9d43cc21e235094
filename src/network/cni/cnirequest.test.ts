import { expect, test } from 'vitest';
import { parseConfig, portMappingsOf } from './cnirequest.ts';

const mappings = (portMappings: unknown) =>
  portMappingsOf(parseConfig(JSON.stringify({ runtimeConfig: { portMappings } })));

test.each([
  ['the conventions', { hostPort: 8080, containerPort: 80, protocol: 'tcp', hostIP: '' }],
  [
    'containerd, whose fields have no names of their own',
    { HostPort: 8080, ContainerPort: 80, Protocol: 'tcp', HostIP: '' },
  ],
])('portMappingsOf() reads what is said by %s', (_, mapping) => {
  expect(mappings([mapping])).toEqual([{ hostPort: 8080, containerPort: 80, protocol: 'tcp', hostIP: '' }]);
});

test('portMappingsOf() names what is no mapping', () => {
  expect(mappings(null)).toEqual([]);
  expect(() => mappings(7)).toThrow('runtimeConfig.portMappings is no list');
  expect(() => mappings([{ hostPort: 1 }, null])).toThrow('runtimeConfig.portMappings[1] is no object');
});
