import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { runs } from '../../test/support/seed.ts';
import {
  addressBytes,
  addressFromBytes,
  addressFromInt,
  addressToInt,
  cidrContains,
  cidrRange,
  cidrText,
  familyOf,
  networkOf,
  parseAddress,
  parseCidr,
} from './address.ts';

describe('parseAddress() gives one text for one address', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['010.000.0.01', '10.0.0.1'], // N23: leading zeros are decimal
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::ffff:a00:1', '10.0.0.1'],
    ['FD00::0001', 'fd00::1'],
    ['fd00:0:0:0:0:0:0:1', 'fd00::1'],
    ['::', '::'],
    ['1:2:3:4:5:6::8', '1:2:3:4:5:6:0:8'], // a gap of one group is written as a zero
    ['fd00:0:0:1:0:0:0:1', 'fd00:0:0:1::1'],
  ])('%s', (text, canonical) => expect(parseAddress(text)).toBe(canonical));
});

describe('parseAddress() parses no text that is canonical already', () => {
  afterEach(() => vi.restoreAllMocks());

  test.each(['fd00:10:244:1::1a', '2001:db8::1', 'fe80::1', '::1', '::', 'ff02::', '1:2:3:4:5:6:7:8'])(
    '%s',
    text => {
      const parse = vi.spyOn(ipaddr.IPv6, 'parse');
      expect(parseAddress(text)).toBe(text);
      expect(parse).toHaveBeenCalledTimes(0);
    },
  );
});

test('parseAddress() reads a text as a whole parser does, canonical or not', () => {
  const group = fc.constantFrom(
    '0',
    '00',
    '1',
    '01',
    'f',
    'ffff',
    'FFFF',
    '10000',
    'g',
    '',
    '10.0.0.1',
    '1.2.3',
  );
  const text = fc.array(group, { minLength: 1, maxLength: 10 }).map(groups => groups.join(':'));
  fc.assert(
    fc.property(text, each => {
      if (!each.includes(':')) return;
      expect(parseAddress(each)).toBe(parsedWhole(each));
    }),
    { numRuns: runs(20_000, 2_000) },
  );
});

function parsedWhole(text: string): string | undefined {
  if (!ipaddr.IPv6.isValid(text)) return undefined;
  const parsed = ipaddr.IPv6.parse(text);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toRFC5952String();
}

describe('parseAddress() refuses a text that is not an address', () => {
  test.each([
    '',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.1.2',
    '0x0a.0.0.1',
    '10.1',
    'fe80::1%eth0',
    ':::',
    '10.0.0.1/32',
    ' 10.0.0.1',
  ])('%j', text => expect(parseAddress(text)).toBeUndefined());
});

describe('parseCidr() masks host bits', () => {
  test.each([
    ['10.0.0.5/24', '10.0.0.0/24'],
    ['10.0.0.5/08', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['fd00::5/64', 'fd00::/64'],
    ['::/0', '::/0'],
    ['::ffff:10.0.0.5/120', '10.0.0.0/24'],
  ])('%s', (text, canonical) => expect(cidrText(parseCidr(text)!)).toBe(canonical));
});

describe('parseCidr() refuses a text that is not a network', () => {
  test.each([
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fd00::/129',
    '::ffff:10.0.0.0/95',
    '/8',
    'x/8',
  ])('%j', text => expect(parseCidr(text)).toBeUndefined());
});

const address = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map(value => addressFromInt('ip', value)),
  // Not the IPv4-mapped range, which is parsed as IPv4.
  fc.bigInt({ min: 1n << 96n, max: (1n << 128n) - 1n }).map(value => addressFromInt('ip6', value)),
);

test('an address survives text, bytes and integer', () => {
  fc.assert(
    fc.property(address, one => {
      expect(parseAddress(one)).toBe(one);
      expect(addressFromBytes(addressBytes(one))).toBe(one);
      expect(addressFromInt(familyOf(one), addressToInt(one))).toBe(one);
    }),
  );
});

test('cidrContains() holds exactly for the addresses of the range', () => {
  fc.assert(
    fc.property(address, address, fc.integer({ min: 0, max: 32 }), (inside, other, prefix) => {
      const cidr = networkOf(inside, prefix);
      const { first, last } = cidrRange(cidr);
      const value = addressToInt(other);
      const inRange = familyOf(other) === cidr.family && value >= first && value <= last;
      expect(cidrContains(cidr, inside)).toBe(true);
      expect(cidrContains(cidr, other)).toBe(inRange);
    }),
  );
});

test('N22: a /0 of one family holds no address of the other', () => {
  expect(cidrContains(parseCidr('0.0.0.0/0')!, parseAddress('fd00::1')!)).toBe(false);
  expect(cidrContains(parseCidr('::/0')!, parseAddress('10.0.0.1')!)).toBe(false);
});
