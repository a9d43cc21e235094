/**
 * Random inputs are the same in every run, so that a run fails by what was changed and not by its luck. Others are drawn
 * with SLUICE_SEED=12345, and new ones each time with SLUICE_SEED=random: .github/workflows/random.yaml does that every
 * night.
 */
import fc from 'fast-check';

const { SLUICE_SEED: given = '1' } = process.env;
export const SEED = given === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(given);
if (!Number.isInteger(SEED)) throw new TypeError(`SLUICE_SEED is "${given}": a whole number, or "random"`);
fc.configureGlobal({ seed: SEED });
