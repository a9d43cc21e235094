/** Plans, and the fake kernel that they are tested on, against nf_tables. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { type Kernel, KernelError } from '../../src/nft/kernel.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import { MEMBER, type SetSpec } from '../../src/nft/ruleset.ts';
import { batchesArbitrary } from '../support/arbitrary/batches.ts';
import { rulesetsArbitrary } from '../support/arbitrary/rulesets.ts';
import { FakeKernel } from '../support/kernel/fake.ts';
import { walkThrough } from '../support/oracle/transitions.ts';
import { runs } from '../support/seed.ts';
import { Netns } from './netns.ts';

const SECONDS = 1000;

it(
  'plan() leads from any ruleset to any other in the real kernel',
  async () => {
    await fc.assert(
      fc.asyncProperty(rulesetsArbitrary(), rulesets =>
        withKernel(async kernel => {
          await walkThrough(kernel, rulesets);
        }),
      ),
      { numRuns: runs(200, 40) },
    );
  },
  300 * SECONDS,
);

it(
  'the fake kernel takes and refuses what the real one does, for the same reason',
  async () => {
    const outcomes = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(batchesArbitrary(), batches =>
        withKernel(async real => {
          const fake = new FakeKernel();
          for (const ops of batches) {
            const expected = await outcome(fake, ops);
            if (expected === SENSELESS) continue;
            expect(await outcome(real, ops)).toEqual(expected);
            expect((await real.dump()).ruleset).toEqual((await fake.dump()).ruleset);
            const said = expected.code ?? `${expected.made} generations`;
            outcomes.set(said, (outcomes.get(said) ?? 0) + 1);
          }
        }),
      ),
      { numRuns: runs(500, 250) },
    );
    // Circles are rare here; the contract has them.
    for (const said of [
      '0 generations',
      '1 generations',
      'EBUSY',
      'ENOENT',
      'EEXIST',
      'ENFILE',
      'EINVAL',
      'EOPNOTSUPP',
      'ERANGE',
      'EFBIG',
    ])
      expect(outcomes.get(said) ?? 0, said).toBeGreaterThan(0);
  },
  300 * SECONDS,
);

/**
 * The real one overlooks an overlap that shares an end with what stands, or that has no end, and is left with a set
 * that matches something else (6.18). The fake refuses all of them, because nothing of ours may lead there.
 */
it('the fake kernel refuses every overlap of intervals, and takes all else as the real one does', async () => {
  const set: SetSpec = { name: 'ports', key: ['inet_service'], verdicts: false, interval: true };
  const add = (key: string): Op => ({ op: 'addElements', family: 'ip', set, elements: [[key, MEMBER]] });
  const fake = new FakeKernel();
  await withKernel(async real => {
    for (const kernel of [real, fake]) await kernel.commit([{ op: 'addTable', family: 'ip' }]);
    let refused = 0;
    for (const [first, second] of pairs(RANGES)) {
      const steps: Op[] = [{ op: 'addSet', family: 'ip', set, size: 16 }, add(first)];
      for (const kernel of [real, fake]) await kernel.commit(steps);
      const [actual, expected] = [await outcome(real, [add(second)]), await outcome(fake, [add(second)])];
      const why = `${first}, then ${second}`;
      expect(expected.code, why).toBe(first !== second && overlap(first, second) ? 'EEXIST' : undefined);
      if (expected.code === undefined || actual.code !== undefined) expect(actual, why).toEqual(expected);
      if (actual.code !== undefined) refused++;
      for (const kernel of [real, fake]) await kernel.commit([{ op: 'delSet', family: 'ip', set: 'ports' }]);
    }
    expect(refused).toBeGreaterThan(100);
  });
});

function overlap(a: string, b: string): boolean {
  const [firstA, lastA = firstA] = a.split('-').map(Number) as [number, number?];
  const [firstB, lastB = firstB] = b.split('-').map(Number) as [number, number?];
  return firstA <= lastB && firstB <= lastA;
}

const ENDS = [0, 1, 2, 3, 4, 65534, 65535];

/** All ranges between seven ports, the first and the last of all among them. */
const RANGES = ENDS.flatMap(first =>
  ENDS.filter(last => last >= first).map(last => (last === first ? `${first}` : `${first}-${last}`)),
);

function pairs<T>(items: readonly T[]): [T, T][] {
  return items.flatMap(first => items.map((second): [T, T] => [first, second]));
}

interface Outcome {
  readonly code?: string | undefined;
  /** Index of the step that was refused. */
  readonly step?: number;
  /** Generations that the batch made, and said to have made. */
  readonly made?: number;
  readonly told?: number;
}

/**
 * A batch that mistakes the kind of a set, or reads what it has not loaded: bytes that mean nothing, which nothing of
 * ours is to send.
 */
const SENSELESS: Outcome = {};

async function outcome(kernel: Kernel, ops: readonly Op[]): Promise<Outcome> {
  const before = await kernel.generation();
  try {
    const told = (await kernel.commit(ops)) - before;
    const made = (await kernel.generation()) - before;
    return { made, told };
  } catch (error) {
    if (error instanceof TypeError) return SENSELESS;
    if (!(error instanceof KernelError)) throw error;
    return { code: error.code, step: error.op === undefined ? -1 : ops.indexOf(error.op) };
  }
}

async function withKernel(work: (kernel: Kernel) => Promise<void>): Promise<void> {
  const netns = new Netns();
  try {
    const kernel = await netns.run(() => openNftKernel());
    try {
      await work(kernel);
    } finally {
      kernel.close();
    }
  } finally {
    netns.close();
  }
}
