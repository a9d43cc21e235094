import { expect, test } from 'vitest';
import { SetQuotaLedger } from './setquota.ts';

const ROOM = { ofNamespace: 100, ofAll: 150 };

test('a set that two namespaces need is counted once of all, and of each of them', () => {
  const ledger = new SetQuotaLedger(ROOM);
  ledger.join('a', 60, 0);
  ledger.join('b', 60, 1);
  expect([ledger.roomOf('a'), ledger.roomOf('b'), ledger.roomOf('c')]).toEqual([40, 40, 90]);
  ledger.grow(
    30,
    new Map([
      ['a', 1],
      ['b', 1],
    ]),
  );
  expect([ledger.roomOf('a'), ledger.roomOf('b'), ledger.roomOf('c')]).toEqual([10, 10, 75]);
  ledger.leave('a', 90, 1);
  ledger.leave('b', 90, 0);
  expect([ledger.roomOf('a'), ledger.roomOf('c'), ledger.overQuota()]).toEqual([100, 100, []]);
});

test('if all namespaces together need too many members, the one that needs most is over quota', () => {
  const ledger = new SetQuotaLedger(ROOM);
  for (const [namespace, members] of [
    ['a', 30],
    ['b', 90],
    ['c', 40],
  ] as const)
    ledger.join(namespace, members, 0);
  expect(ledger.overQuota()).toEqual(['b']);
  expect([ledger.roomOf('a'), ledger.roomOf('b'), ledger.roomOf('c')]).toEqual([20, -10, 10]);
  ledger.join('c', 70, 0);
  expect(ledger.overQuota()).toEqual(['c']); // more than one namespace may have
});

test('preparations have no more members than there is room for, and if there is none, no more than others', () => {
  const ledger = new SetQuotaLedger(ROOM);
  ledger.join('a', 60, 0);
  expect(ledger.mayPrepare('a', 40, [40])).toBe(true);
  expect(ledger.mayPrepare('a', 41, [41])).toBe(false);
  expect(ledger.mayPrepare('b', 90, [90])).toBe(true);
  expect(ledger.mayPrepare('b', 60, [60, 40])).toBe(false);
  expect(ledger.mayPrepare('c', 40, [60, 40])).toBe(true);
});

test('a namespace keeps its room when others come to need more than their share', () => {
  const ledger = new SetQuotaLedger(ROOM);
  ledger.join('old', 80, 0);
  expect(ledger.overQuota()).toEqual([]);
  ledger.join('new', 76, 0);
  expect(ledger.overQuota()).toEqual(['new']);
  ledger.leave('new', 76, 0);
  expect(ledger.overQuota()).toEqual([]);
  ledger.join('a', 40, 0);
  ledger.join('b', 40, 0);
  expect(ledger.overQuota()).toEqual(['old']); // 'a' and 'b' need less than a third each
  ledger.leave('old', 80, 0);
  ledger.join('old', 70, 0);
  expect(ledger.overQuota()).toEqual([]);
});

test('a namespace whose sets are all created again does not count as new', () => {
  const ledger = new SetQuotaLedger(ROOM);
  ledger.join('old', 80, 0);
  expect(ledger.overQuota()).toEqual([]);
  ledger.leave('old', 80, 0);
  ledger.join('old', 80, 0);
  ledger.join('new', 76, 0);
  expect(ledger.overQuota()).toEqual(['new']);
});
