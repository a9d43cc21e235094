import { expect, test } from 'vitest';
import { FakeKernel } from '../../../test/support/kernel/fake.ts';
import { hashedName } from '../../compiler/names.ts';
import type { Op } from '../../nft/plan/op.ts';
import type { RuleCount } from '../../nft/rulecount.ts';
import { RuleCounts } from './rulecounts.ts';

const CHAIN = hashedName('from', 'x');
const COUNT: RuleCount = {
  family: 'ip',
  chain: CHAIN,
  handle: 1,
  comment: 'shop/web ingress[0]',
  verdict: { kind: 'accept' },
  packets: 5,
};
const SETUP: Op[] = [
  { op: 'addTable', family: 'ip' },
  { op: 'addChain', family: 'ip', chain: CHAIN },
  { op: 'addChain', family: 'ip', chain: 'forward' },
];
const flush = (chain: string): Op => ({ op: 'flushChain', family: 'ip', chain });

function site(of: (chains: readonly { chain: string }[]) => Promise<RuleCount[]>) {
  const asked: string[][] = [];
  const reader = {
    all: async () => [],
    of: (chains: readonly { chain: string }[]) => {
      asked.push(chains.map(({ chain }) => chain));
      return of(chains);
    },
    close: () => undefined,
  };
  const counts = new RuleCounts(reader);
  return { counts, asked, kernel: counted(counts, new FakeKernel()) };
}

/** Commits as the agent does, with the counts read before. */
function counted(counts: RuleCounts, kernel: FakeKernel) {
  return {
    commit: async (ops: readonly Op[]) => {
      await counts.before(ops);
      await kernel.commit(ops);
    },
  };
}

test('the counts of a chain are read before a commit takes its rules away, and of no other', async () => {
  const { counts, asked, kernel } = site(async () => [COUNT]);
  await kernel.commit(SETUP);
  await kernel.commit([flush('forward')]);
  expect(asked).toEqual([]);
  await kernel.commit([flush(CHAIN)]);
  expect(asked).toEqual([[CHAIN]]);
  expect([...counts.totals.values()].map(({ packets }) => packets)).toEqual([5]);
});

test('what cannot be read holds up no commit, and is said', async () => {
  const { counts, kernel } = site(async () => {
    throw new Error('EIO');
  });
  await kernel.commit(SETUP);
  await kernel.commit([flush(CHAIN)]);
  expect(counts.totals.unreadChains).toBe(1);
});

test('of very many chains that go at once some are read, and the rest is said', async () => {
  const { counts, asked, kernel } = site(async () => []);
  const chains = Array.from({ length: 100 }, (_, i) => hashedName('from', `${i}`));
  await kernel.commit([
    { op: 'addTable', family: 'ip' },
    ...chains.map((chain): Op => ({ op: 'addChain', family: 'ip', chain })),
  ]);
  await kernel.commit(chains.map(flush));
  expect([asked[0]!.length, counts.totals.unreadChains]).toEqual([32, 68]);
});

test('a commit does not wait for a scrape, and what both read is counted once, whichever is done first', async () => {
  for (const [of, all] of [
    [7, 5],
    [5, 7],
  ] as const)
    for (const scrapeIsFirst of [true, false]) {
      const scrape = Promise.withResolvers<RuleCount[]>();
      const some = Promise.withResolvers<RuleCount[]>();
      const reader = { all: () => scrape.promise, of: () => some.promise, close: () => undefined };
      const counts = new RuleCounts(reader);
      const kernel = counted(counts, new FakeKernel());
      await kernel.commit(SETUP);
      const reading = counts.read();
      const commit = kernel.commit([flush(CHAIN)]);
      const finish = {
        scrape: async () => {
          scrape.resolve([{ ...COUNT, packets: all }]);
          await reading;
        },
        commit: async () => {
          some.resolve([{ ...COUNT, packets: of }]);
          await commit;
        },
      };
      await finish[scrapeIsFirst ? 'scrape' : 'commit']();
      await finish[scrapeIsFirst ? 'commit' : 'scrape']();
      expect(
        [...counts.totals.values()].map(({ packets }) => packets),
        `${of} ${all} ${scrapeIsFirst}`,
      ).toEqual([7]);
    }
});
