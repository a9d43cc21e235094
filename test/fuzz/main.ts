/**
 * The properties that hold the product together, for as long as you like and with a new seed each time:
 *   npm run fuzz -- --seconds 60            prints its seed
 *   npm run fuzz -- --seed 12345            the same inputs again
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { plan } from '../../src/nft/plan/plan.ts';
import { type Count, checkHistory } from '../support/agent/replay.ts';
import { answerPackets } from '../support/arbitrary/answerpackets.ts';
import { situationArbitrary } from '../support/arbitrary/cluster.ts';
import { enforced } from '../support/arbitrary/enforced.ts';
import { historyArbitrary } from '../support/arbitrary/events.ts';
import { rulesetArbitrary } from '../support/arbitrary/rulesets.ts';
import { FakeKernel } from '../support/kernel/fake.ts';
import { checkAnswers } from '../support/oracle/answers.ts';
import { checkSituation, type Tally } from '../support/oracle/equivalence.ts';

const USAGE = `npm run fuzz -- [--seconds 60] [--seed 12345]

Holds the properties below for so many seconds together, each for its part, by the inputs of a new seed, or of that one;
exits with 1 where one does not hold, and shows the smallest input that was found.
`;
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit();
}
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const seconds = Number(values.seconds);
if (!(seconds > 0) || !Number.isInteger(seed)) throw new TypeError('--seconds and --seed take numbers');

const tally: Tally = { packets: 0, decidedByPolicy: 0, denied: 0, unknown: 0, byName: 0, tiers: {} };
const count: Count = { flushes: 0, chains: 0 };
let plans = 0;

const properties = {
  'evaluate equals the trace of compile': fc.property(situationArbitrary(60), situation =>
    checkSituation(situation, tally),
  ),
  'incremental equals compile': fc.property(historyArbitrary(16), enforced, (steps, how) =>
    checkHistory(steps, how, count),
  ),
  'answers of DNS are read or passed over': fc.property(answerPackets(), checkAnswers),
  'plan leads from any ruleset to any other': fc.asyncProperty(
    rulesetArbitrary(),
    rulesetArbitrary(),
    async (from, to) => {
      const kernel = new FakeKernel();
      await kernel.commit(plan({ tables: new Map() }, from));
      await kernel.commit(plan((await kernel.dump()).ruleset, to));
      plans++;
      const left = plan((await kernel.dump()).ruleset, to);
      if (left.length > 0) throw new Error(`${left.length} ops are left: ${JSON.stringify(left[0])}`);
    },
  ),
};

process.stdout.write(`seed ${seed}, ${seconds} seconds\n`);
let failed = 0;
const timeLimit = (seconds * 1000) / Object.keys(properties).length;
for (const [name, property] of Object.entries(properties)) {
  const result = await fc.check(property as fc.IAsyncProperty<unknown>, {
    seed,
    numRuns: Number.POSITIVE_INFINITY,
    interruptAfterTimeLimit: timeLimit,
  });
  process.stdout.write(`${result.failed ? 'FAILED' : 'ok'}  ${name}: ${result.numRuns} runs\n`);
  if (!result.failed) continue;
  failed++;
  process.stdout.write(`${await fc.asyncDefaultReportMessage(result as never)}\n`);
}
process.stdout.write(
  `${tally.packets} packets, ${tally.decidedByPolicy} decided by a policy; ${count.flushes} flushes; ${plans} plans\n`,
);
if (tally.packets === 0 || count.flushes === 0 || plans === 0) failed++;
process.stdout.write(`${Object.keys(properties).length - failed} passed, ${failed} failed\n`);
if (failed > 0) process.exitCode = 1;
