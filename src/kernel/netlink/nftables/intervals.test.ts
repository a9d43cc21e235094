import { expect, test } from 'vitest';
import { intervalBytes, intervalText } from './elements.ts';

test.each([
  ['ipv4_addr', '10.0.0.0/8', '0a000000', '0b000000'],
  ['ipv4_addr', '10.0.0.1/32', '0a000001', '0a000002'],
  ['ipv4_addr', '10.0.0.255-10.0.1.0', '0a0000ff', '0a000101'],
  ['ipv4_addr', '0.0.0.0/0', '00000000', undefined],
  ['ipv4_addr', '192.0.0.0/2', 'c0000000', undefined],
  ['ipv4_addr', '255.255.255.254-255.255.255.255', undefined, undefined],
  ['ipv4_addr', '0.0.0.1-255.255.255.255', '00000001', undefined],
  ['ipv6_addr', 'fd00::/8', `fd${'00'.repeat(15)}`, `fe${'00'.repeat(15)}`],
  ['ipv6_addr', '::/0', '00'.repeat(16), undefined],
  ['ipv6_addr', '2001:db8::-2001:db8::2', `20010db8${'00'.repeat(12)}`, `20010db8${'00'.repeat(11)}03`],
  ['inet_service', '80', '0050', '0051'],
  ['inet_service', '1024-2047', '0400', '0800'],
  ['inet_service', '65535', 'ffff', undefined],
] as const)('%s %s is its first value and the value behind its last', (type, text, first, end) => {
  const interval = intervalBytes(type, text);
  if (first !== undefined) expect(Buffer.from(interval.first).toString('hex')).toBe(first);
  expect(interval.end && Buffer.from(interval.end).toString('hex')).toBe(end);
  const canonical = text === '255.255.255.254-255.255.255.255' ? '255.255.255.254/31' : text;
  expect(intervalText(type, interval)).toBe(canonical);
});

test.each([
  ['ipv4_addr', '10.0.0.9-10.0.0.1'],
  ['ipv4_addr', '10.0.0.0/33'],
  ['ipv4_addr', '10.0.0.0/x'],
  ['inet_service', '90-80'],
] as const)('%s %s is refused', (type, text) => {
  expect(() => intervalBytes(type, text)).toThrow(RangeError);
});
