import { expect, test } from 'vitest';
import { type Address, parseAddress } from '../../model/address.ts';
import { SecondScans } from './scanqueue.ts';
import type { AffectedAddresses } from './tightening.ts';

const [a, b, c] = ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map(text => parseAddress(text)!) as [
  Address,
  Address,
  Address,
];

test('addresses join a scan that takes place from the time on after which they are to be scanned', () => {
  const scans = new SecondScans(1_000, 250);
  scans.add(new Set([a]), 0);
  scans.add(new Set([b]), 100);
  expect(scans.take(999, new Set([c]))).toEqual(new Set([c]));
  expect(scans.take(1_000, new Set([c]))).toEqual(new Set([c, a]));
  expect(scans.take(1_100, new Set([c]))).toEqual(new Set([c, b]));
  expect(scans.fromMs).toBe(Number.POSITIVE_INFINITY);
});

test('the oldest waits no longer than it has patience, and takes with it what may be scanned then', () => {
  const scans = new SecondScans(1_000, 250);
  scans.add(new Set([a]), 0);
  scans.add(new Set([b]), 250);
  scans.add(new Set([c]), 251);
  expect(scans.untilMs).toBe(1_250);
  expect(scans.take(1_250)).toEqual(new Set([a, b]));
  expect(scans.untilMs).toBe(1_501);
});

test('addresses that would make a scan too large wait on, and smaller ones behind them join it', () => {
  const scans = new SecondScans(1_000, 250);
  scans.add('all', 0);
  scans.add(new Set([b]), 0);
  const isSmall = (all: AffectedAddresses) => all !== 'all' && all !== 'none' && all.size <= 2;
  expect(scans.take(1_000, new Set([a]), isSmall)).toEqual(new Set([a, b]));
  expect(scans.take(1_000)).toBe('all');
});
