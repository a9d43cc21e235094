/**
 * Keeps a port open for as long as the agent lives. Any process in the node's network, also a pod with hostNetwork, may
 * have taken the port and would answer in our place: the log says so, and we retry until we get it.
 */
import type { Backoff } from '../../lib/async/backoff.ts';
import { backoffMs } from '../../lib/async/backoff.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { HttpServer } from './listener.ts';

export interface KeepServingOptions {
  /** The thing that is served, for the log: `health and metrics`. */
  readonly what: string;
  readonly address: string;
  readonly listen: () => Promise<HttpServer>;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  readonly retry?: Backoff;
}

const RETRY: Backoff = { firstMs: 1_000, mostMs: 10_000 };

/** Resolves after the first attempt; later ones go on in the background. */
export async function keepServing(options: KeepServingOptions): Promise<{ close(): Promise<void> }> {
  const { what, address, listen, log, retry = RETRY } = options;
  const stop = new AbortController();
  const attempt = async (): Promise<HttpServer | Error> => listen().catch((error: Error) => error);
  const first = await attempt();
  if (first instanceof Error)
    log.error({}, `${what} are not served: cannot listen on ${address}: ${first.message}; tried again`);
  const serving = first instanceof Error ? again() : Promise.resolve(first);
  return {
    close: async () => {
      stop.abort();
      await (await serving)?.close();
    },
  };

  async function again(): Promise<HttpServer | undefined> {
    for (let failures = 1; ; failures++) {
      await sleep(backoffMs(retry, failures), stop.signal);
      if (stop.signal.aborted) return undefined;
      const server = await attempt();
      if (server instanceof Error) continue;
      log.info({}, `${what} are served on ${address} now`);
      return server;
    }
  }
}
