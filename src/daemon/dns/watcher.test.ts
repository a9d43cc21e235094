/** When the thread that reads DNS answers is started and restarted. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Subjects } from '../../names/subjects.ts';
import type { Conntrack } from '../../nft/conntrack.ts';
import type { AnswerThreadEvents } from './answerthread.ts';
import { DnsWatcher } from './watcher.ts';

const threads: AnswerThreadEvents[] = [];

vi.mock('./answerthread.ts', () => ({
  AnswerThread: class {
    counts = undefined;
    constructor(_: unknown, events: AnswerThreadEvents) {
      threads.push(events);
    }
    configure(): void {}
    async synced(): Promise<void> {}
    async close(): Promise<void> {}
  },
}));
vi.mock('../../kernel/netlink/nftables/read-ruleset.ts', () => ({ readNamesElements: async () => [] }));

const SUBJECTS: Subjects = {
  pods: [{ key: 'shop/web', addresses: ['10.1.0.1' as Address], sets: ['names'] }],
  sets: [{ name: 'names', patterns: ['a.example'], command: 2 }],
};

beforeEach(() => {
  threads.length = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function site(subjects = () => SUBJECTS) {
  const lines: string[] = [];
  const say = (_: object, message: string) => void lines.push(message);
  /** Reading the open connections waits for this promise. */
  const read = { until: Promise.resolve() };
  const conntrack = { read: () => read.until, close: () => {} } as unknown as Conntrack;
  const answers = new DnsWatcher({
    queue: { queue: 'nft', resolvers: [] },
    subjects,
    isNaming: () => true,
    lifetimes: {},
    conntrack: () => conntrack,
    ownAddresses: () => new Set(),
    log: { debug: say, info: say, warn: say, error: say },
  });
  const commit = () => answers.committed({ ops: [], ruleset: { tables: new Map() } });
  return { answers, lines, read, commit };
}

const READING = 'peers by name: reading DNS answers';
const LOST = 'peers by name: DNS answers are not read, and nothing is learnt: it ended';
const soon = () => vi.advanceTimersByTimeAsync(10);

test('a thread that ends while its start still waits is begun again', async () => {
  const { answers, lines, read, commit } = site();
  const { promise, resolve } = Promise.withResolvers<void>();
  read.until = promise;
  commit();
  await expect.poll(() => threads).toHaveLength(1);
  await soon();
  threads[0]!.lost('it ended');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(threads).toHaveLength(1);
  resolve();
  await soon();
  expect(answers.cache).toBeUndefined();
  expect(lines).toEqual([LOST]);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect.poll(() => threads).toHaveLength(2);
  await answers.known();
  expect(lines).toEqual([LOST, READING]);
  await answers.close();
});

test('a thread that ends later is begun again once, though commits ask for it meanwhile', async () => {
  let subjects = SUBJECTS;
  const { answers, commit } = site(() => subjects);
  commit();
  await expect.poll(() => answers.cache).toBeDefined();
  threads[0]!.lost('it ended');
  subjects = { ...SUBJECTS };
  commit();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(threads).toHaveLength(2);
  await answers.close();
});

test('nothing is begun again for nobody, or after close()', async () => {
  let subjects = SUBJECTS;
  const { answers, commit } = site(() => subjects);
  commit();
  await expect.poll(() => answers.cache).toBeDefined();
  subjects = { pods: [], sets: [] };
  commit();
  threads[0]!.lost('it ended');
  expect(vi.getTimerCount()).toBe(0);
  subjects = SUBJECTS;
  commit();
  await expect.poll(() => threads).toHaveLength(2);
  await soon();
  threads[1]!.lost('it ended');
  expect(vi.getTimerCount()).toBe(1);
  await answers.close();
  expect(vi.getTimerCount()).toBe(0);
});
