/**
 * Written messages can be read: requests and answers have the same form. The real kernel's answers are tested in
 * test/kernel.
 */
import { describe, expect, test } from 'vitest';
import { parseAddress, parseCidr } from '../../../model/address.ts';
import { AttributeWriter } from '../wire/attributes.ts';
import { readMessages } from '../wire/messages.ts';
import { type Route, writeNewAddress, writeNewRoute, writeNewVeth, writeSetLink } from './rtnetlink.ts';
import { readDeviceAddress, readLink, readRoute, readRouteOfMain } from './rtnetlink-read.ts';

function written(write: (to: AttributeWriter) => void) {
  const to = new AttributeWriter();
  write(to);
  const messages = [...readMessages(Buffer.from(to.written), to.length)];
  expect(messages).toHaveLength(1);
  return messages[0]!;
}

describe('routes', () => {
  const routes: Route[] = [
    { destination: parseCidr('10.0.0.5/32')!, device: 7, protocol: 115 },
    { destination: parseCidr('fd00::5/128')!, device: 7, protocol: 115, source: parseAddress('fd01::1')! },
    { destination: parseCidr('0.0.0.0/0')!, gateway: parseAddress('169.254.1.1')!, device: 2, protocol: 115 },
    { destination: parseCidr('::/0')!, gateway: parseAddress('fe80::1')!, device: 2, protocol: 3, metric: 9 },
    { destination: parseCidr('10.0.0.0/24')!, type: 'unreachable', protocol: 115 },
  ];
  test.each(routes.map(route => [`${route.destination.base}/${route.destination.prefix}`, route]))(
    '%s comes back as it was',
    (_, route) => {
      const message = written(to => writeNewRoute(to, 1, route as Route, 'refuse'));
      expect(readRoute(message)).toEqual(route);
    },
  );

  test('a route of another table is none of ours, and a way all the same', () => {
    const message = written(to => writeNewRoute(to, 1, routes[0]!, 'refuse'));
    expect(readRouteOfMain(message)).toEqual(routes[0]);
    message.payload.bytes[message.payload.start + 4] = 100; // rtm_table
    expect(readRouteOfMain(message)).toBeUndefined();
    expect(readRoute(message)).toEqual(routes[0]);
  });
});

test.each(['10.0.0.5', 'fd00::5'])('address %s comes back as it was', text => {
  const address = parseAddress(text)!;
  expect(readDeviceAddress(written(to => writeNewAddress(to, 1, 7, address)))).toEqual({
    device: 7,
    address,
    network: parseCidr(`${text}/${text.includes(':') ? 128 : 32}`),
  });
});

test.each([
  ['10.9.0.1', 16, ['10.9.255.255']],
  ['10.9.0.1', 31, undefined],
  ['fd00::1', 64, undefined],
])('address %s of a network of %i bits has the broadcast addresses %j', (text, prefix, broadcasts) => {
  const message = written(to => writeNewAddress(to, 1, 7, parseAddress(text)!));
  message.payload.bytes[message.payload.start + 1] = prefix; // ifa_prefixlen
  expect(readDeviceAddress(message)?.broadcasts).toEqual(broadcasts);
});

test('a veth pair comes back with its kind, name, hardware address, MTU and group', () => {
  const peer = { name: 'eth0', mac: '06:00:00:00:00:01', namespace: 5 };
  const message = written(to =>
    writeNewVeth(to, 1, { name: 'sl1', mac: '02:00:00:00:00:01', mtu: 1400, group: 9, peer }),
  );
  expect(readLink(message)).toEqual({
    index: 0,
    name: 'sl1',
    mac: '02:00:00:00:00:01',
    mtu: 1400,
    group: 9,
    kind: 'veth',
    running: false,
  });
});

test('the longest alias is written whole, with the zero that ends it', () => {
  const message = written(to => writeSetLink(to, 1, { index: 3, up: true, alias: 'x'.repeat(255) }));
  expect(message.payload.end - message.payload.start).toBe(16 + 4 + 256);
});
