import { expect, test } from 'vitest';
import { parseAddress } from '../../model/address.ts';
import { DnsCache, type DnsRecord } from '../../names/dnscache.ts';
import type { Inspection } from './inspect.ts';
import { withLeaseTimes } from './leasetimes.ts';

const NOW_MS = 1_000_000;

function inspected(peers: string, ...addresses: readonly string[]): Inspection {
  const own = addresses.map(address => ({ address, leftSeconds: 597, byKernel: true as const }));
  return {
    installed: true,
    pods: [
      {
        pod: 'shop/web',
        addresses: ['10.0.0.1'],
        names: [{ set: 'names-x', peers, addresses: own, total: own.length }],
      },
      { pod: 'shop/db', addresses: ['10.0.0.2'] },
    ],
    unknownPods: 'allow',
    totals: { chains: 1, sets: 1, elements: 1 },
  };
}

const record = (name: string, address: string, leftMs: number, more: Partial<DnsRecord> = {}): DnsRecord => ({
  pod: 'shop/web',
  name,
  address: parseAddress(address)!,
  toldMs: 1,
  untilMs: NOW_MS + leftMs,
  ...more,
});

function timesOf(inspection: Inspection, ...records: readonly DnsRecord[]) {
  const cache = new DnsCache();
  cache.record(records);
  return withLeaseTimes(inspection, { cache, nowMs: NOW_MS }).pods[0]!.names![0]!.addresses;
}

test('an address is allowed until the agent takes it back, whatever the kernel would keep', () => {
  expect(
    timesOf(inspected('logs.test', '192.0.2.1', '192.0.2.2'), record('logs.test', '192.0.2.2', 119_400)),
  ).toEqual([
    { address: '192.0.2.1', leftSeconds: 597, byKernel: true },
    { address: '192.0.2.2', leftSeconds: 119 },
  ]);
});

test('of several names and answers that one counts which the set has, and the latest', () => {
  const of = inspected('*.cloud.test', '192.0.2.1');
  expect(
    timesOf(
      of,
      record('a.cloud.test', '192.0.2.1', 60_000),
      record('b.cloud.test', '192.0.2.1', 90_000),
      record('logs.test', '192.0.2.1', 500_000),
      record('c.cloud.test', '192.0.2.1', 800_000, { pod: 'shop/db' }),
      record('d.cloud.test', '192.0.2.3', 800_000),
    ),
  ).toEqual([{ address: '192.0.2.1', leftSeconds: 90 }]);
  const recovered = record('x', '192.0.2.1', 30_000, { oneOf: ['*.cloud.test', 'y.test'] });
  expect(timesOf(of, recovered)).toEqual([{ address: '192.0.2.1', leftSeconds: 30 }]);
});

test('what has ended is the kernel’s alone, and addresses that hold longest come first', () => {
  expect(timesOf(inspected('a.test', '192.0.2.1'), record('a.test', '192.0.2.1', 0))).toEqual([
    { address: '192.0.2.1', leftSeconds: 597, byKernel: true },
  ]);
  const times = timesOf(
    inspected('a.test', '192.0.2.1', '192.0.2.2'),
    record('a.test', '192.0.2.1', 10_000),
    record('a.test', '192.0.2.2', 20_000),
  );
  expect(times.map(({ address }) => address)).toEqual(['192.0.2.2', '192.0.2.1']);
});

test('a set whose comment has no room for all names is of any of them', () => {
  const peers = `${'a'.repeat(60)}.test ${'b'.repeat(60)}`.slice(0, 120);
  expect(timesOf(inspected(peers, '192.0.2.1'), record('z.test', '192.0.2.1', 10_000))).toEqual([
    { address: '192.0.2.1', leftSeconds: 10 },
  ]);
});
