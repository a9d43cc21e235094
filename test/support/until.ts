import { setTimeout } from 'node:timers/promises';

// Vitest ends a test after two minutes, and does not say what it waited for: this ends earlier, and says it.
const WITHIN_MS = 100_000 * Number(process.env.SLUICE_SLOW ?? 1);

/** Asks until the answer is neither false nor undefined, and answers that; throws with `what` if it never comes. */
export async function until<T>(
  what: string | (() => string),
  ask: () => T | Promise<T>,
  withinMs = WITHIN_MS,
): Promise<Exclude<T, false | undefined>> {
  for (const deadline = performance.now() + withinMs; ; await setTimeout(10)) {
    const answer = await ask();
    if (answer !== false && answer !== undefined) return answer as Exclude<T, false | undefined>;
    if (performance.now() > deadline)
      throw new Error(`never within ${withinMs / 1000} s: ${typeof what === 'string' ? what : what()}`);
  }
}
