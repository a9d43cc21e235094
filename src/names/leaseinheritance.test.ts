/** A pod does not inherit leases: neither from an earlier pod of its name, nor from one that had its address. */
import { expect, test } from 'vitest';
import type { Address } from '../model/address.ts';
import { Leases } from './leases.ts';
import { type LeaseChange, lastingPods, type NamesPod, type NamesSet } from './subjects.ts';

const SETS: NamesSet[] = [{ name: 'names-A', patterns: ['*.example.org'], command: 2 }];
const POD = '10.1.0.1' as Address;
const PEER = '192.0.2.1' as Address;
const pod = (uid: string | undefined, more: Partial<NamesPod> = {}): NamesPod => ({
  key: 'shop/web-0',
  uid,
  addresses: [POD],
  sets: ['names-A'],
  ...more,
});
const text = ({ kind, pod: of, peer }: LeaseChange) => `${kind} ${of} . ${peer}`;

function answered(first: NamesPod): Leases {
  const leases = new Leases();
  leases.configure({ pods: [first], sets: SETS }, 0);
  const answer = { names: ['a.example.org'], addresses: [{ address: PEER, ttlSeconds: 60 }] };
  expect(leases.recordAnswer(POD, answer, 0)).toHaveLength(1);
  return leases;
}

test.each([
  ['with its address', pod('2'), ['forget 10.1.0.1 . 192.0.2.1']],
  ['with another address', pod('2', { addresses: ['10.1.0.2' as Address] }), ['forget 10.1.0.1 . 192.0.2.1']],
])('a pod of the same name, %s, does not inherit its predecessor’s leases', (_, successor, changes) => {
  const leases = answered(pod('1'));
  expect(leases.configure({ pods: [successor], sets: SETS }, 0).map(text)).toEqual(changes);
  expect(leases.size).toBe(0);
});

test.each([
  ['the same pod', pod('1')],
  ['one whose identity nobody knows', pod(undefined)],
])('%s keeps its leases', (_, now) => {
  const leases = answered(pod('1'));
  expect(leases.configure({ pods: [now], sets: SETS }, 0)).toEqual([]);
  expect(leases.size).toBe(1);
});

test('facts are of pods, not of their names', () => {
  const subjects = (...pods: NamesPod[]) => ({ pods, sets: SETS });
  const other = { ...pod('7'), key: 'shop/db' } as const;
  expect(lastingPods(subjects(pod('1'), other), subjects(pod('2'), other))).toEqual(new Set(['shop/db']));
  expect(lastingPods(subjects(pod('1')), subjects(pod('1'), other))).toEqual(
    new Set(['shop/web-0', 'shop/db']),
  );
});

test.each([
  ['before it was told', 799_000, []],
  ['after it was told', 801_000, ['forget 10.1.0.1 . 192.0.2.1']],
  ['nobody knows when', Number.NaN, []],
])('an agent that starts takes over the addresses of a pod that was created %s', (_, createdMs, changes) => {
  const leases = new Leases();
  leases.configure({ pods: [pod('1')], sets: SETS }, 1_000_000);
  const found = { set: 'names-A', pod: POD, peer: PEER, leftMs: 400_000 };
  expect(leases.recover([found], 1_000_000, () => createdMs).map(text)).toEqual(changes);
  expect(leases.size).toBe(changes.length === 0 ? 1 : 0);
});

test('an element that was read a while ago is as much older, and has ended if that was all it had left', () => {
  const leases = new Leases();
  leases.configure({ pods: [pod('1')], sets: SETS }, 1_000_000);
  const found = { set: 'names-A', pod: POD, peer: PEER, leftMs: 400_000 };
  const recover = (createdMs: number, agedMs: number) =>
    leases.recover([found], 1_000_000, () => createdMs, agedMs).map(text);
  expect(recover(795_000, 10_000)).toEqual(['forget 10.1.0.1 . 192.0.2.1']); // the answer came at 790,000
  expect(recover(795_000, 400_000)).toEqual([]);
  expect(leases.size).toBe(0);
  expect(recover(785_000, 10_000)).toEqual([]);
  expect(leases.size).toBe(1);
});

test('an agent that starts deletes elements of pods that are gone, because others get their addresses', () => {
  const leases = new Leases();
  leases.configure({ pods: [pod('1')], sets: SETS }, 0);
  const found = { set: 'names-A', pod: '10.1.0.9' as Address, peer: PEER, leftMs: 400_000 };
  expect(leases.recover([found], 0, () => 0).map(text)).toEqual(['forget 10.1.0.9 . 192.0.2.1']);
});

test('pods with the same rules share one index of names, which goes with the last of them', () => {
  const leases = new Leases();
  const others = [{ name: 'names-B', patterns: ['b.example'], command: 4 }];
  const crowd = Array.from({ length: 9 }, (_, i) => pod(`${i}`, { key: `shop/${i}` }));
  leases.configure({ pods: crowd, sets: SETS }, 0);
  const [first, ...rest] = [...leases.pods()].map(({ sets }) => sets);
  for (const sets of rest) expect(sets).toBe(first);
  leases.configure({ pods: [pod('1', { sets: ['names-B'] })], sets: others }, 0);
  leases.configure({ pods: crowd, sets: SETS }, 0);
  expect([...leases.pods()][0]!.sets).not.toBe(first);
});

test('facts of what an agent takes over have the names of their set once, however many addresses it has', () => {
  const leases = new Leases();
  leases.configure({ pods: [pod('1')], sets: SETS }, 0);
  const found = [1, 2].map(i => ({
    set: 'names-A',
    pod: POD,
    peer: `192.0.2.${i}` as Address,
    leftMs: 1_000,
  }));
  leases.recover(found, 0, () => Number.NaN);
  for (const { oneOf } of leases.drainUpdates()) expect(oneOf).toBe(SETS[0]!.patterns);
});
