import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import { ClusterState } from '../../model/cluster.ts';
import { attemptOf, Journal } from './journal.ts';
import { ModelView } from './modelview.ts';
import type { NamedDenial } from './name.ts';
import type { PacketHead } from './packethead.ts';

const SYN: PacketHead = {
  from: '10.0.0.1' as Address,
  to: '10.0.0.2' as Address,
  protocol: 'TCP',
  sourcePort: 4000,
  port: 80,
  tcp: { flags: 2, sequence: 77 },
};
const NAMED: NamedDenial = {
  from: { address: SYN.from },
  to: { address: SYN.to },
  protocol: 'TCP',
  cause: { kind: 'unexplained', reason: '' },
};

const NOBODY = new ModelView(new ClusterState(), { node: 'n1', unknownPods: 'deny', now: () => 0 });

/** Takes a packet as the recorder does; answers whether it made a line of its own. */
function take(journal: Journal, head: PacketHead, atMs: number): boolean {
  const attempt = attemptOf({ head, hook: 'forward' }, NOBODY);
  if (journal.counted(attempt, atMs)) return false;
  journal.add(attempt, NAMED, atMs);
  return true;
}

test('what TCP sends again is counted with the first packet, however long it waits between', () => {
  const journal = new Journal();
  const seconds = [0, 1, 3, 7, 15, 31, 63, 127];
  expect(seconds.map(second => take(journal, SYN, second * 1000))).toEqual([true, ...Array(7).fill(false)]);
  expect(journal.denials()).toMatchObject([{ number: 1, times: 8, atMs: 0, lastMs: 127_000 }]);
});

test.each([
  ['from another port', { sourcePort: 4001 }],
  ['from the same port, of another number', { tcp: { flags: 2, sequence: 78 } }],
  ['to another port', { port: 81 }],
  ['over another protocol', { protocol: 'SCTP' as const }],
])('an attempt %s is another', (_, other) => {
  const journal = new Journal();
  expect([SYN, { ...SYN, ...other }].map(head => take(journal, head, 0))).toEqual([true, true]);
});

test('what goes on for long is told of anew, and so is what comes after a pause', () => {
  const journal = new Journal();
  const udp: PacketHead = { ...SYN, protocol: 'UDP' };
  const minutes = Array.from({ length: 12 }, (_, n) => n);
  expect(minutes.map(minute => take(journal, udp, minute * 60_000)).filter(Boolean)).toHaveLength(2);
  expect(take(journal, udp, 60 * 60_000)).toBe(true);
});

test('where the clock goes back, what comes is not counted with what is to come', () => {
  const journal = new Journal();
  expect([3_600_000, 0, 1].map(ms => take(journal, SYN, ms))).toEqual([true, true, false]);
});

test('the latest are kept, and as many as asked for', () => {
  const journal = new Journal(10);
  for (let port = 1; port <= 10_000; port++) take(journal, { ...SYN, port }, port);
  expect(journal.denials().map(({ number }) => number)).toEqual(
    Array.from({ length: 10 }, (_, n) => 9_991 + n),
  );
  expect(journal.total).toBe(10_000);
  // A packet whose attempt is no longer kept counts as a new attempt.
  expect(take(journal, { ...SYN, port: 1 }, 10_001)).toBe(true);
});

test('who follows hears of each attempt once, until it has enough', () => {
  const journal = new Journal();
  const heard: number[] = [];
  const end = journal.follow(({ number }) => heard.push(number));
  take(journal, SYN, 0);
  take(journal, SYN, 1);
  take(journal, { ...SYN, port: 81 }, 2);
  end();
  take(journal, { ...SYN, port: 82 }, 3);
  expect(heard).toEqual([1, 2]);
});
