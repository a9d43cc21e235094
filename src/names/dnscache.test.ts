import { expect, test } from 'vitest';
import type { Address } from '../model/address.ts';
import { DnsCache, type DnsRecord } from './dnscache.ts';

const record = (
  name: string,
  address: string,
  untilMs: number,
  more: Partial<DnsRecord> = {},
): DnsRecord => ({
  pod: 'shop/web',
  name,
  address: address as Address,
  toldMs: 0,
  untilMs,
  ...more,
});

function known(...cache: DnsRecord[]): DnsCache {
  const resolved = new DnsCache();
  resolved.record(cache);
  return resolved;
}

const ADDRESS = '192.0.2.1' as Address;

test('knows the addresses that a pod got until they end, by the names that a pattern matches', () => {
  const resolved = known(record('www.example.org', ADDRESS, 1_000));
  expect(resolved.asOf(999).has('shop/web', ADDRESS, '*.example.org')).toBe(true);
  expect(resolved.asOf(1_000).has('shop/web', ADDRESS, '*.example.org')).toBe(false);
  expect(resolved.asOf(0).has('shop/web', ADDRESS, 'example.org')).toBe(false);
  expect(resolved.asOf(0).has('shop/db', ADDRESS, '*.example.org')).toBe(false);
  expect(resolved.asOf(0).has('shop/web', '192.0.2.2' as Address, '*.example.org')).toBe(false);
});

test('remembers what has ended for connections that are open', () => {
  const resolved = known(record('www.example.org', ADDRESS, 1_000));
  expect(resolved.everHad('shop/web', ADDRESS, ['other.net', '*.example.org'])).toBe(true);
  expect(resolved.everHad('shop/web', ADDRESS, ['other.net'])).toBe(false);
});

test('takes an element that stood before for any name of its set', () => {
  const resolved = known(
    record('@names-A 192.0.2.1', ADDRESS, 1_000, { oneOf: ['a.example', '*.b.example'] }),
  );
  expect(resolved.everHad('shop/web', ADDRESS, ['*.b.example'])).toBe(true);
  expect(resolved.everHad('shop/web', ADDRESS, ['c.example'])).toBe(false);
});

test('keeps the latest 8,192 addresses of a pod, and nothing of pods that are gone', () => {
  const resolved = new DnsCache();
  const address = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
  for (let i = 0; i < 10_000; i++) resolved.record([record('www.example.org', address(i), 1_000)]);
  expect([...resolved.of('shop/web')]).toHaveLength(8_192);
  expect(resolved.everHad('shop/web', address(9_999) as Address, ['www.example.org'])).toBe(true);
  resolved.retainOnly(new Set());
  expect([...resolved.of('shop/web')]).toEqual([]);
});

test('C57: remembers of a node so much, and takes it from the namespace that has most', () => {
  const resolved = new DnsCache({ perPod: 50, perAddress: 5, perNode: 100 });
  const pods = ['evil/a', 'evil/b', 'evil/c'] as const;
  for (let i = 0; i < 30; i++) resolved.record([record(`n${i}.example.org`, `10.0.0.${i}`, 1_000)]);
  for (let i = 0; i < 1_000; i++)
    resolved.record([record(`n${i}.example.org`, `10.1.0.${i % 40}`, 1_000, { pod: pods[i % 3]! })]);
  const sizes = ['shop/web', ...pods].map(pod => [...resolved.of(pod as 'shop/web')].length);
  expect(sizes[0]).toBe(30);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(100);
  resolved.retainOnly(new Set(['shop/web']));
  for (let i = 0; i < 1_000; i++) resolved.record([record(`n${i}.example.org`, ADDRESS, 1_000)]);
  expect([...resolved.of('shop/web')].length).toBe(35); // 30 earlier addresses, and one address with five names
});

test('looks through a list of names once, however many addresses are looked up', () => {
  let looks = 0;
  const counted = (from: string) =>
    new Proxy(
      Array.from({ length: 1_000 }, (_, i) => `*.${from}${i}.example`),
      {
        get: (list, key) => {
          if (key === '0') looks++;
          return Reflect.get(list, key);
        },
      },
    );
  const [patterns, others] = [counted('a'), counted('b')];
  const addresses = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}` as Address);
  const resolved = known(
    ...addresses.map(address => record('@names-A', address, 9, { oneOf: others })),
    ...addresses.map(address => record('x.b7.example', address, 9)),
  );
  for (const address of addresses) {
    expect(resolved.everHad('shop/web', address, patterns)).toBe(false);
    expect(resolved.everHad('shop/web', address, others)).toBe(true);
    expect(resolved.asOf(0).has('shop/web', address, '*.a1.example')).toBe(false);
    expect(resolved.asOf(0).has('shop/web', address, '*.b999.example')).toBe(true);
  }
  expect(looks).toBeLessThan(10);
});
