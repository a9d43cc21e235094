/** What a flush hands over as changed is all that a plan has to look at: its batch is the one that a look at everything makes. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LIMITS } from '../../src/compiler/live/limits.ts';
import { opText } from '../../src/nft/plan/op.ts';
import { applied, plan } from '../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { engineOf } from '../support/agent/engine.ts';
import { comingChanges } from '../support/agent/replay.ts';
import { type Enforced, enforced } from '../support/arbitrary/enforced.ts';
import { historyArbitrary, type Step } from '../support/arbitrary/events.ts';
import { FakeKernel } from '../support/kernel/fake.ts';
import { text } from '../support/oracle/inforce.ts';
import { runs } from '../support/seed.ts';

/** What becomes of the batch after a flush; before the flush that follows a dump, nothing is known but the dump. */
type Outcome = 'committed' | 'refused' | 'committed and dumped';

interface Count {
  /** Batches that were planned from the changes, and of those the ones that change something. */
  planned: number;
  changing: number;
  /** Plans that span more than one flush. */
  afterRefusals: number;
  ahead: number;
}

/** What is known of the kernel: what is in it, and what it was made equal to. */
interface Known {
  readonly actual: Ruleset;
  readonly since?: Ruleset;
}

async function check(steps: readonly Step[], outcomes: readonly Outcome[], how: Enforced, count: Count) {
  const { mostEntries = LIMITS.mostEntries } = how;
  const engine = engineOf([], { mostEntries }, how);
  const kernel = new FakeKernel();
  const versions: { readonly ruleset: Ruleset; readonly asFlushed: string }[] = [];
  let known: Known = { actual: (await kernel.dump()).ruleset };
  let isRefused = false;
  for (const [at, { event }] of steps.entries()) {
    engine.prepare(comingChanges(steps.slice(at)));
    engine.apply(event);
    const desired = engine.flush();
    versions.push({ ruleset: desired, asFlushed: text(desired) });
    if (engine.isStaged()) count.ahead++;
    if (isRefused && known.since !== undefined) count.afterRefusals++;
    const outcome = outcomes[at % outcomes.length]!;
    isRefused = outcome === 'refused';
    known = await next(kernel, known, desired, outcome, count);
  }
  for (const { ruleset, asFlushed } of versions) expect(text(ruleset)).toBe(asFlushed);
}

async function next(
  kernel: FakeKernel,
  known: Known,
  desired: Ruleset,
  outcome: Outcome,
  count: Count,
): Promise<Known> {
  const { actual, since } = known;
  const ops = plan(actual, desired, since);
  expect(ops.map(textOf).sort()).toEqual(plan(copyOf(actual), desired).map(textOf).sort());
  if (since !== undefined) count.planned++;
  if (since !== undefined && ops.length > 0) count.changing++;
  if (outcome === 'refused') return known;
  const whole = applied(copyOf(actual), desired);
  const now = applied(actual, desired, since);
  expect(sizedText(now)).toEqual(sizedText(whole));
  await kernel.commit(ops);
  const dumped = (await kernel.dump()).ruleset;
  expect(plan(dumped, desired)).toEqual([]);
  return outcome === 'committed' ? { actual: now, since: desired } : { actual: dumped };
}

function textOf(op: Parameters<typeof opText>[0]): string {
  return `${opText(op)} ${JSON.stringify(op)}`;
}

function sizedText(ruleset: Ruleset) {
  const sizes = [...ruleset.tables].flatMap(([family, { sets }]) =>
    [...sets.values()].map(({ name, size }) => `${family} ${name} ${size}`),
  );
  return { rules: text(ruleset), sizes: sizes.sort() };
}

/** The same, of which nobody knows where it comes from. */
function copyOf({ tables }: Ruleset): Ruleset {
  const copies = Array.from(tables, ([family, { sets, chains }]) => {
    const sameSets = Array.from(
      sets,
      ([name, set]) => [name, { ...set, elements: new Map(set.elements) }] as const,
    );
    return [family, { sets: new Map(sameSets), chains: new Map(chains) }] as const;
  });
  return { tables: new Map(copies) };
}

test('a plan from the changes that flushes hand over is the plan that compares everything', async () => {
  const count: Count = { planned: 0, changing: 0, afterRefusals: 0, ahead: 0 };
  const outcomes = fc.array(
    fc.constantFrom<Outcome>('committed', 'committed', 'committed', 'refused', 'committed and dumped'),
    { minLength: 1, maxLength: 16 },
  );
  await fc.assert(
    fc.asyncProperty(historyArbitrary(16), outcomes, enforced, (steps, itsOutcomes, how) =>
      check(steps, itsOutcomes, how, count),
    ),
    { numRuns: runs(300) },
  );
  process.stdout.write(`    ${JSON.stringify(count)}\n`);
  expect(count.changing).toBeGreaterThan(runs(900));
  expect(count.afterRefusals).toBeGreaterThan(runs(150));
  expect(count.ahead).toBeGreaterThan(runs(150));
}, 300_000);
