/**
 * What a queue, preparations, quarantine and rooms make of histories together: after each flush the rules are those of the
 * cluster that the desired state says is in force, a kernel takes every batch, and when nothing comes any more nothing is
 * lost.
 */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { DesiredState } from '../../src/agent/desiredstate.ts';
import { KernelState } from '../../src/agent/kernelstate.ts';
import { BatchScope } from '../../src/agent/scheduler.ts';
import type { Incremental } from '../../src/compiler/live/incremental.ts';
import type { Limits } from '../../src/compiler/live/limits.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import { withoutRules } from '../../src/model/policy.ts';
import { isQuarantined } from '../../src/model/policystatus.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { engineOf, NODE } from '../support/agent/engine.ts';
import { VirtualTime } from '../support/agent/virtualtime.ts';
import { type Enforced, enforced } from '../support/arbitrary/enforced.ts';
import { historyArbitrary, relabellingHistoryArbitrary, type Step } from '../support/arbitrary/events.ts';
import { FakeKernel } from '../support/kernel/fake.ts';
import { assertInForce } from '../support/oracle/inforce.ts';
import { runs } from '../support/seed.ts';

/** So that most policies have to wait for their turn. */
vi.mock('../../src/agent/admission/limits.ts', async original => {
  const { FAIRNESS } = await original<typeof import('../../src/agent/admission/limits.ts')>();
  return { FAIRNESS: { ...FAIRNESS, small: 4 } };
});

/** After these all that is tried again was, at the latest. */
const HALF_AN_HOUR = 1_900_000;

/** What becomes of a batch, how long after the one before it is made, and whether time passes while it is. */
interface Fate {
  readonly end: 'committed' | 'interrupted' | 'refused' | 'begun anew';
  readonly afterMs: number;
  readonly isSlow: boolean;
}

const fate: fc.Arbitrary<Fate> = fc.record({
  end: fc.constantFrom('committed', 'committed', 'committed', 'interrupted', 'refused', 'begun anew'),
  afterMs: fc.constantFrom(0, 100, 100, 1_500, 6_000, 31_000, 70_000),
  isSlow: fc.boolean(),
});

const limits: fc.Arbitrary<Partial<Limits>> = fc.record({
  mostLookups: fc.constantFrom(0, 2, 5),
  room: fc.record({ ofNamespace: fc.constantFrom(3, 8, 1_000), ofAll: fc.constantFrom(5, 16, 1_000) }),
  patience: fc.record({ isolating: fc.nat(2), others: fc.nat(4) }),
  mostEntries: fc.constantFrom(0, 1, 6, 1_000),
});

const count = { flushes: 0, withoutRoom: 0, isolating: 0, waiting: 0, refused: 0, ahead: 0 };

class Play {
  readonly #time = new VirtualTime();
  readonly #how: Enforced;
  readonly #state: DesiredState;
  readonly #kernel = new KernelState({
    open: async () => new FakeKernel({ owners: true }),
    onDrift: () => {},
    now: this.#time.now,
  });
  #engine: Incremental | undefined;
  #isSlow = false;
  #isFirst = true;

  constructor(how: Enforced, its: Partial<Limits>) {
    this.#how = how;
    const make = () => (this.#engine = engineOf([], its, how));
    this.#state = new DesiredState({
      makeEngine: make,
      node: NODE,
      timing: { now: () => this.#time.spend(this.#isSlow ? 4 : 0) },
    });
  }

  get state(): DesiredState {
    return this.#state;
  }

  async flush({ end, afterMs, isSlow }: Fate): Promise<void> {
    this.#isSlow = isSlow;
    this.#time.spend(afterMs);
    const batch = new BatchScope(this.#isFirst);
    // A kernel takes each batch, whatever the agent is told of it.
    const { desired } = await this.#kernel.reconcile(actual => this.#state.flush(actual, batch), 'cached');
    this.#check(desired);
    this.#isFirst = false;
    if (end === 'committed') this.#state.committed(1);
    else if (end !== 'refused' || !this.#refused()) this.#state.interrupted();
    if (end === 'refused' || end === 'begun anew') this.#state.renewEngine();
  }

  #refused(): boolean {
    count.refused++;
    return this.#state.refused(new Error('it says no'));
  }

  #check(flushed: Ruleset): void {
    const { cluster, waitingPods, isolating, lastingStatuses } = this.#state;
    assertInForce(flushed, cluster, waitingPods, this.#how);
    count.flushes++;
    if (this.#engine!.isStaged()) count.ahead++;
    count.isolating += isolating.size;
    count.waiting += waitingPods.size;
    count.withoutRoom += lastingStatuses.filter(
      status => isQuarantined(status) && status.reason === 'no room',
    ).length;
  }

  /** Nothing comes any more. */
  async rest(): Promise<void> {
    const committed = { end: 'committed', isSlow: false } as const;
    for (let n = 0; n < 25; n++) await this.flush({ ...committed, afterMs: HALF_AN_HOUR });
    for (let n = 0; n < 40; n++) await this.flush({ ...committed, afterMs: 50 });
    expect([this.#state.waiting, this.#state.isBehind]).toEqual([undefined, false]);
  }
}

async function play(steps: readonly Step[], fates: readonly Fate[], how: Enforced, its: Partial<Limits>) {
  const played = new Play(how, its);
  const latest = new ClusterState();
  let flushes = 0;
  for (const { event, flush } of steps) {
    played.state.apply(event);
    latest.apply(event);
    if (flush) await played.flush(fates[flushes++ % fates.length]!);
  }
  await played.rest();
  const { cluster, lastingStatuses } = played.state;
  const held = new Set(lastingStatuses.filter(isQuarantined).map(({ id }) => id));
  expect(new Set(cluster.policies.keys())).toEqual(new Set(latest.policies.keys()));
  for (const [id, value] of latest.policies)
    expect(cluster.policies.get(id)).toEqual(held.has(id) ? withoutRules(value, 'no room') : value);
  expect([...held].filter(id => !latest.policies.has(id))).toEqual([]);
}

test('whatever waits, is made ready, refused or tried again: the rules are those of what is in force, and all comes to rest', async () => {
  const steps = fc.oneof(historyArbitrary(16), relabellingHistoryArbitrary(14));
  const fates = fc.array(fate, { minLength: 5, maxLength: 12 });
  await fc.assert(fc.asyncProperty(steps, fates, enforced, limits, play), { numRuns: runs(150, 20) });
  process.stdout.write(`    ${JSON.stringify(count)}\n`);
  expect(Math.min(...Object.values(count))).toBeGreaterThan(runs(10, 1));
}, 900_000);
