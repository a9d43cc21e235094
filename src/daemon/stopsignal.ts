/**
 * What ends the agent. The listeners are there before the agent's own parts are loaded, which takes a third of a
 * second: one that is asked to stop by then has begun nothing, and ends as well as any other. No other command is
 * held up: a signal ends those at once.
 */
const controller = new AbortController();

if (process.argv[2] === 'agent')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => controller.abort());

/** Aborted by SIGTERM or SIGINT, from the first moment of `sluice agent` on. */
export const stopSignal: AbortSignal = controller.signal;
