import { expect, test } from 'vitest';
import { crc32c, internetChecksum } from './checksum.ts';

test('crc32c() of the check string is the published check value', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

test('internetChecksum() of the example in RFC 1071, section 3', () => {
  expect(internetChecksum(Buffer.from('0001f203f4f5f6f7', 'hex'))).toBe(~0xddf2 & 0xffff);
});

test('internetChecksum() takes an odd last byte as the high one', () => {
  expect(internetChecksum(Buffer.from('01', 'hex'))).toBe(0xfeff);
});
