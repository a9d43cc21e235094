import { expect, test } from 'vitest';
import { type Address, type Cidr, type Family, parseAddress, parseCidr } from '../../model/address.ts';
import { allocate, capacity, exhaustedFamilies, exhaustedText } from './ipam.ts';

const cidr = (text: string): Cidr => parseCidr(text)!;
const address = (text: string): Address => parseAddress(text)!;
const taken = (...texts: string[]) => new Set(texts.map(address));
const NOBODY: ReadonlyMap<Family, Address> = new Map();
const after = (...texts: string[]) =>
  new Map(texts.map(text => [text.includes(':') ? 'ip6' : 'ip', address(text)] as const));

test('allocate() gives one address of each family, and none of the first two of a network', () => {
  const both = [cidr('10.0.0.0/24'), cidr('fd00::/64')];
  expect(allocate(both, taken(), NOBODY)).toEqual({ addresses: ['10.0.0.2', 'fd00::2'] });
});

test('allocate() passes over what is taken', () => {
  const found = allocate([cidr('10.0.0.0/24')], taken('10.0.0.2', '10.0.0.4'), NOBODY);
  expect(found).toEqual({ addresses: ['10.0.0.3'] });
});

test('allocate() goes on behind the last address, and comes back to the first at the end', () => {
  const network = [cidr('10.0.0.0/29')];
  expect(allocate(network, taken(), after('10.0.0.4'))).toEqual({ addresses: ['10.0.0.5'] });
  expect(allocate(network, taken(), after('10.0.0.6'))).toEqual({ addresses: ['10.0.0.2'] });
  expect(allocate(network, taken('10.0.0.2'), after('10.0.0.6'))).toEqual({ addresses: ['10.0.0.3'] });
});

test('allocate() gives out every address of a /29 that it gives out once, then says that none is left', () => {
  const network = [cidr('10.0.0.0/29')];
  const given = new Set<Address>();
  let last: Address | undefined;
  for (let n = 0; n < capacity(network[0]!); n++) {
    const found = allocate(network, given, last === undefined ? NOBODY : after(last));
    expect(found).toHaveProperty('addresses');
    last = (found as { addresses: Address[] }).addresses[0]!;
    expect(given.has(last)).toBe(false);
    given.add(last);
  }
  expect(given.size).toBe(5);
  expect(allocate(network, given, after(last!))).toEqual({ exhausted: network });
  given.delete(address('10.0.0.3'));
  expect(allocate(network, given, after(last!))).toEqual({ addresses: ['10.0.0.3'] });
});

test('allocate() uses a second network of a family when the first is full', () => {
  const networks = [cidr('10.0.0.0/32'), cidr('10.0.1.0/24')];
  expect(allocate(networks, taken('10.0.0.0'), after('10.0.0.0'))).toEqual({ addresses: ['10.0.1.2'] });
});

test('allocate() gives nothing of one family where the other has none left', () => {
  const both = [cidr('10.0.0.0/32'), cidr('fd00::/64')];
  expect(allocate(both, taken('10.0.0.0'), NOBODY)).toEqual({ exhausted: [both[0]] });
  expect(exhaustedFamilies(both, taken('10.0.0.0'))).toEqual(['ip']);
  expect(exhaustedText([both[0]!])).toBe('all 1 addresses of 10.0.0.0/32 are in use');
});

test('capacity() counts addresses that can be given out', () => {
  expect(['10.0.0.0/24', '10.0.0.0/31', '10.0.0.0/32', 'fd00::/126'].map(cidr).map(capacity)).toEqual([
    253, 2, 1, 3,
  ]);
  expect(capacity(cidr('fd00::/64'))).toBe(Number.MAX_SAFE_INTEGER);
});
