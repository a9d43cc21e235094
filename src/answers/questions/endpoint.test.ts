import { expect, test } from 'vitest';
import { parseEndpoint } from './endpoint.ts';

test.each([
  ['127.0.0.1:80', 'loopback'],
  ['[::1]:80', 'loopback'],
  ['0.0.0.0', 'of those who have none'],
  ['::', 'of those who have none'],
  ['fe80::1', 'link-local'],
  ['[fe80::1]:80/udp', 'link-local'],
  ['224.0.0.251:5353/udp', 'everybody'],
  ['255.255.255.255:67/udp', 'everybody'],
  ['[ff02::fb]:5353/udp', 'everybody'],
])('%s is no end of which a policy decides, and is refused with the reason', (text, reason) => {
  expect(() => parseEndpoint(text)).toThrow(reason);
});

test.each(['169.254.169.254:80', '10.9.0.255', '240.0.0.1', '[fec0::1]:80', 'fd00::1', '0.0.0.1'])(
  '%s is an address as any other',
  text => {
    expect(parseEndpoint(text).name.kind).toBe('address');
  },
);
