/**
 * The inputs of random tests, and their number. Inputs are the same in every run, so that a failure is caused by a
 * change and not by chance. SLUICE_SEED=12345 draws others, and SLUICE_SEED=random new ones each time. With
 * SLUICE_LONG=1, which `scripts/test --long` sets, each property is tried about ten times as often, and with
 * SLUICE_LONG=5 five times as often as that.
 */
import fc from 'fast-check';

const { SLUICE_SEED: given = '1', SLUICE_LONG, SLUICE_SHRINK } = process.env;
export const SEED = given === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(given);
if (!Number.isInteger(SEED)) throw new TypeError(`SLUICE_SEED is "${given}": a whole number, or "random"`);
// Whether a property fails is all that `npm run mutants` asks, and not by which smallest input.
fc.configureGlobal({ seed: SEED, endOnFailure: SLUICE_SHRINK === '0' });

export const IS_LONG_RUN = SLUICE_LONG !== undefined;

/**
 * How often a property is tried: `long` times in the long run, otherwise `short` times, which is a tenth if not given. What
 * is counted to see that inputs are dense enough is compared with such a number too.
 */
export function runs(long: number, short = Math.ceil(long / 10)): number {
  return IS_LONG_RUN ? Math.ceil(long * Number(SLUICE_LONG)) : short;
}
