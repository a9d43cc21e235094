/**
 * What random tests draw, and how often. Inputs are the same in every run, so that a run fails by what was changed and
 * not by its luck. Others are drawn with SLUICE_SEED=12345, and new ones each time with SLUICE_SEED=random. With
 * SLUICE_LONG=1, as `scripts/test --long` has it, each property is tried ten times as often, and with SLUICE_RUNS=2500 that
 * often.
 */
import fc from 'fast-check';

const { SLUICE_SEED: given = '1', SLUICE_LONG, SLUICE_RUNS, SLUICE_SHRINK } = process.env;
export const SEED = given === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(given);
if (!Number.isInteger(SEED)) throw new TypeError(`SLUICE_SEED is "${given}": a whole number, or "random"`);
// Whether a property fails is all that `npm run mutants` asks, and not by which smallest input.
fc.configureGlobal({ seed: SEED, endOnFailure: SLUICE_SHRINK === '0' });

/** Whether this is the long run of every night. */
export const IS_LONG = SLUICE_LONG === '1';

/** How often a property is tried: `long` times in the long run, otherwise `short` times, which is a tenth if not given. */
export function runs(long: number, short = Math.ceil(long / 10)): number {
  if (SLUICE_RUNS !== undefined) return Number(SLUICE_RUNS);
  return IS_LONG ? long : short;
}
