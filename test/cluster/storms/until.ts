import { setTimeout } from 'node:timers/promises';

/** Until the condition holds; throws with `what` where it does not in time. */
export async function until(
  what: string,
  condition: () => Promise<boolean>,
  withinMs = 60_000,
): Promise<void> {
  for (const deadline = Date.now() + withinMs; !(await condition()); await setTimeout(100))
    if (Date.now() > deadline) throw new Error(`never within ${withinMs / 1000} s: ${what}`);
}
