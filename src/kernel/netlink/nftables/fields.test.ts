import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../test/support/seed.ts';
import { type Address, addressBytes, addressFromBytes } from '../../../model/address.ts';
import { readField, writeField } from './keys.ts';

/** Zeros are many, so that runs of them meet and compete. */
const ipv6 = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(0xffff) }), {
    minLength: 8,
    maxLength: 8,
  })
  .map(groups => Uint8Array.from(groups.flatMap(group => [group >> 8, group & 255])));
const ipv4 = fc.uint8Array({ minLength: 4, maxLength: 4 });

test.each([
  ['ipv4_addr', ipv4],
  ['ipv6_addr', ipv6],
] as const)('%s is read and written as the model does', (type, arbitrary) => {
  fc.assert(
    fc.property(arbitrary, bytes => {
      const text = addressFromBytes(bytes);
      expect(readField(type, bytes, 0)).toBe(text);
      expect(written(type, text, bytes.length)).toEqual(addressBytes(text as Address));
    }),
    { numRuns: runs(2000) },
  );
});

test.each([
  ['ipv4_addr', '10.0.0'],
  ['ipv4_addr', '10.0.0.0.1'],
  ['ipv4_addr', '10.0.0.256'],
  ['ipv4_addr', '10..0.1'],
  ['ipv4_addr', '10.0.0.1 '],
  ['ipv4_addr', ''],
  ['ipv6_addr', ''],
  ['ipv6_addr', ':'],
  ['ipv6_addr', ':::'],
  ['ipv6_addr', '1:2:3:4:5:6:7'],
  ['ipv6_addr', '1:2:3:4:5:6:7:8:9'],
  ['ipv6_addr', '1::2::3'],
  ['ipv6_addr', '12345::'],
  ['ipv6_addr', '::g'],
  ['ipv6_addr', '1:2:3:4:5:6:7:8::'],
  ['ipv6_addr', '1:'],
  ['ipv6_addr', '10.0.0.1'],
  ['inet_service', ''],
  ['inet_service', '65536'],
  ['inet_service', '-1'],
  ['inet_service', 'http'],
  ['inet_proto', '256'],
  ['inet_proto', 'TCP'],
] as const)('%s "%s" is refused', (type, text) => {
  expect(() => written(type, text, 16)).toThrow(RangeError);
});

function written(type: Parameters<typeof writeField>[0], text: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length + 2);
  writeField(type, text, 0, text.length, bytes, 1);
  expect([bytes[0], bytes[length + 1]]).toEqual([0, 0]); // nothing beside it
  return bytes.slice(1, length + 1);
}
