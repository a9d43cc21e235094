/**
 * The signals that end the agent. The listeners are installed before the agent's own parts are loaded, which takes a
 * third of a second: an agent that is stopped during that time ends in the same way as later. Other commands have no
 * listener, so a signal ends them at once.
 */
const controller = new AbortController();

if (process.argv[2] === 'agent')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => controller.abort());

/** Aborted by SIGTERM or SIGINT, from the first moment of `sluice agent` on. */
export const stopSignal: AbortSignal = controller.signal;
