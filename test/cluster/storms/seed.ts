/** Of this run's dice; SLUICE_SEED repeats an earlier run. */
export const seed = Number(process.env.SLUICE_SEED ?? Date.now() % 1_000_000_000);

console.log(`SLUICE_SEED=${seed}`);
