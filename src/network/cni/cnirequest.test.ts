import { expect, test } from 'vitest';
import { parseConfig, portMappingsOf, sandboxAddresses } from './cnirequest.ts';

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

test.each([
  [{ ips: null, interfaces: null }, []],
  [{ ips: [{ address: '10.0.0.2/24' }], interfaces: null }, ['10.0.0.2']],
])('sandboxAddresses() of %j', (result, addresses) => {
  expect(sandboxAddresses(result as never)).toEqual(addresses);
});

test.each([
  [{ ips: {} }, 'prevResult.ips is no list'],
  [{ ips: [null] }, 'prevResult.ips[0] is no object'],
  [
    { ips: [{ address: '10.0.0.2/24', interface: 0 }], interfaces: [7] },
    'prevResult.interfaces[0] is no object',
  ],
  [{ ips: [{ address: 'x\x1b[2J' }] }, 'prevResult.ips: "x\x1b[2J" is no address'],
])('sandboxAddresses() names what is wrong with %j', (result, message) => {
  expect(() => sandboxAddresses(result as never)).toThrow(message);
});
