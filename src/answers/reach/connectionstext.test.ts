import { expect, test } from 'vitest';
import { ConnectionPool, type Connections } from './connections.ts';
import { cellText, connectionsObject, connectionsText } from './connectionstext.ts';
import { togglesOf } from './regions.ts';

const pool = new ConnectionPool();
const tcp = (...ports: number[]) =>
  pool.ports(
    'TCP',
    togglesOf(
      ports.map(port => ({ first: port, last: port })),
      1,
    ),
  );

test.each<[string, Connections]>([
  ['none', pool.none],
  ['all', pool.all],
  ['TCP 80,443', tcp(80, 443)],
  ['TCP 80-81; UDP 53', pool.or(tcp(80, 81), pool.ports('UDP', [53, 54]))],
  ['all TCP', pool.ports('TCP')],
  ['all TCP; all UDP', pool.or(pool.ports('TCP'), pool.ports('UDP'))],
  ['all but TCP 22', pool.minus(pool.all, tcp(22))],
  ['all but tunnels', pool.minus(pool.all, pool.tunnels)],
  ['all but TCP 22; tunnels', pool.minus(pool.all, pool.or(tcp(22), pool.tunnels))],
  ['ICMP and other protocols', pool.make({ ...pool.none, other: pool.all.other })],
  ['ICMP', pool.make({ ...pool.none, other: [256, 257] })],
  ['protocols 47', pool.make({ ...pool.none, other: [47, 48] })],
])('connectionsText() says %s', (text, connections) => {
  expect(connectionsText(pool, connections)).toBe(text);
});

test('cellText() says both families once where they are the same', () => {
  expect(cellText(pool, { ip: tcp(80), ip6: tcp(80) })).toBe('TCP 80');
  expect(cellText(pool, { ip6: tcp(80) })).toBe('TCP 80');
  expect(cellText(pool, { ip: tcp(80), ip6: pool.none })).toBe('IPv4 TCP 80 | IPv6 none');
});

test('connectionsObject() has ports in pairs of a first and a last', () => {
  expect(
    connectionsObject(
      pool,
      pool.or(tcp(80, 81, 443), pool.make({ ...pool.none, other: [47, 48, 256, 257] })),
    ),
  ).toEqual({
    text: 'TCP 80-81,443; ICMP; protocols 47',
    tcp: [
      [80, 81],
      [443, 443],
    ],
    udp: [],
    sctp: [],
    icmp: true,
    protocols: [[47, 47]],
  });
});
