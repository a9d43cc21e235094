/** Consecutive batches with events in between: what is reported, and what is programmed. */
import { afterEach, expect, test, vi } from 'vitest';
import { FakeKernel } from '../../test/support/kernel/fake.ts';
import { type Kernel, KernelError } from '../nft/kernel.ts';
import type { Op } from '../nft/plan/op.ts';
import { plan } from '../nft/plan/plan.ts';
import { MEMBER, type NftSet, type Ruleset } from '../nft/ruleset.ts';
import { KernelState } from './kernelstate.ts';

const NETS: NftSet = {
  name: 'nets',
  key: ['ipv4_addr'],
  verdicts: false,
  interval: true,
  elements: new Map([['10.0.0.0/8', MEMBER]]),
};
const LOOK_UP = [
  { kind: 'payload', base: 'network', offset: 16, length: 4, dreg: 0 },
  { kind: 'lookup', set: 'nets', sreg: 0, vmap: false, invert: false },
] as const;
const hook = { hook: 'forward', priority: 0, policy: 'accept' } as const;
const ruleset = (...sets: NftSet[]): Ruleset => ({
  tables: new Map([
    [
      'ip',
      {
        sets: new Map(sets.map(set => [set.name, set])),
        chains: new Map([
          ['forward', { name: 'forward', hook, rules: sets.length === 0 ? [] : [{ exprs: LOOK_UP }] }],
        ]),
      },
    ],
    ['ip6', { sets: new Map(), chains: new Map() }],
  ]),
});

afterEach(() => {
  vi.restoreAllMocks();
});

test('what a dump says of thousands of objects is compared in slices, and others have turns between them', async () => {
  const sets = Array.from({ length: 3_200 }, (_, n) => ({ ...NETS, name: `nets-${n}` }));
  const desired = ruleset(NETS, ...sets);
  const fake = new FakeKernel({ owners: true });
  const state = new KernelState({ open: async () => fake, onDrift: () => undefined, now: () => 0 });
  await state.reconcile(() => desired, 'dump');
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => ++nowMs); // each look at the clock takes a millisecond
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const { ops } = await state.reconcile(() => desired, 'dump');
  isDone = true;
  expect(ops).toEqual([]);
  expect(turns).toBeGreaterThan(20);
});

test('what a dump finds changed is put right, also where the desired state is the one that was committed last', async () => {
  const desired = ruleset(NETS);
  const fake = new FakeKernel({ owners: false });
  const state = new KernelState({ open: async () => fake, onDrift: () => undefined, now: () => 0 });
  await state.reconcile(() => desired, 'dump');
  await fake.commit([{ op: 'flushChain', family: 'ip', chain: 'forward' }]);
  const { ops } = await state.reconcile(() => desired, 'dump');
  expect(ops.map(({ op }) => op)).toEqual(['addRule']);
  expect(plan((await fake.dump()).ruleset, desired)).toEqual([]);
});

test('a dump is asked for beside what is known, so that it can share it', async () => {
  const kernel: Kernel = new FakeKernel({ owners: false });
  const dump = vi.spyOn(kernel, 'dump');
  const state = new KernelState({ open: async () => kernel, onDrift: () => undefined, now: () => 0 });
  const desired = ruleset(NETS);
  for (let n = 0; n < 2; n++) await state.reconcile(() => desired, 'dump');
  expect(dump.mock.calls[0]).toEqual([undefined]);
  const [known] = dump.mock.calls[1]!;
  expect(known!.tables.get('ip')!.sets.get('nets')!.elements).toBe(NETS.elements);
});

/** `between` comes before the commit with this number, from 1. */
async function reconciled(owners: boolean, between: (fake: FakeKernel, commit: number) => void) {
  const fake = new FakeKernel({ owners });
  const batches: (readonly Op[])[] = [];
  const kernel: Kernel = {
    missingFeatures: [],
    dump: () => fake.dump(),
    generation: () => fake.generation(),
    owner: () => fake.owner(),
    close: () => fake.close(),
    commit: async (ops, expected) => {
      between(fake, batches.length + 1);
      batches.push(ops);
      return fake.commit(ops, expected);
    },
  };
  const state = new KernelState({ open: async () => kernel, onDrift: () => undefined, now: () => 0 });
  await state.reconcile(() => ruleset(), 'cached');
  const before = batches.length;
  const outcome = () => state.reconcile(() => ruleset(NETS), 'cached');
  const { ops } = await outcome().catch(outcome);
  expect(plan((await fake.dump()).ruleset, ruleset(NETS))).toEqual([]);
  return {
    names: ops.map(({ op }) => op),
    batches: batches.slice(before).map(all => all.map(({ op }) => op)),
  };
}

const WHOLE = ['addSet', 'addElements', 'addRule'];

test('what goes ahead and what follows are reported as one', async () => {
  const { names, batches } = await reconciled(true, () => undefined);
  expect(batches).toEqual([['addSet', 'addElements'], ['addRule']]);
  expect(names).toEqual(WHOLE);
});

test('a neighbour who writes between two batches does not keep the second from tables that are ours', async () => {
  const { names, batches } = await reconciled(true, (fake, commit) => void (commit === 3 && fake.touch()));
  expect(batches).toHaveLength(2);
  expect(names).toEqual(WHOLE);
});

test("where tables are everybody's it does, and what stood before that is reported all the same", async () => {
  const { names } = await reconciled(false, (fake, commit) => void (commit === 3 && fake.touch()));
  expect(names.slice(0, 2)).toEqual(['addSet', 'addElements']);
  expect(names.at(-1)).toBe('addRule');
});

test('a refusal between two batches leaves nothing unreported', async () => {
  let refusals = 0;
  const { names } = await reconciled(true, (_, commit) => {
    if (commit === 3 && refusals++ === 0) throw new KernelError('ENOMEM', 'ENOMEM: as the test wants it');
  });
  expect(names.slice(0, 2)).toEqual(['addSet', 'addElements']);
  expect(names.at(-1)).toBe('addRule');
});

/** A state whose tables are in the kernel, and what the kernel is asked from then on. */
async function asked(owners: boolean) {
  const fake = new FakeKernel({ owners });
  const questions: string[] = [];
  const open = async (): Promise<Kernel> => ({
    missingFeatures: [],
    dump: () => fake.dump(),
    generation: () => {
      questions.push('generation');
      return fake.generation();
    },
    owner: () => {
      questions.push('owner');
      return fake.owner();
    },
    close: () => undefined,
    commit: (ops, expected) => fake.commit(ops, expected),
  });
  const state = new KernelState({ open, onDrift: () => undefined, now: () => 0 });
  await state.reconcile(() => ruleset(), 'cached');
  questions.length = 0;
  return { state, questions };
}

test('nobody is asked about tables that are ours when a change comes, and the kernel is when nothing does', async () => {
  const { state, questions } = await asked(true);
  await state.reconcile(() => ruleset(NETS), 'known');
  expect(questions).toEqual([]);
  await state.reconcile(() => ruleset(NETS), 'cached');
  expect(questions).toEqual(['generation', 'owner']);
});

test("at each change it is asked about tables that are everybody's", async () => {
  const { state, questions } = await asked(false);
  await state.reconcile(() => ruleset(NETS), 'known');
  expect(questions).toEqual(['generation', 'owner', 'owner']); // before, between its two batches, and behind them
});
