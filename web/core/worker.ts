/** The worker: answers one question after another, so that the page never waits with its frames. */
import { printableData } from './printabledata.ts';
import type { Core } from './protocol.ts';
import { Session } from './session.ts';

export type Request = readonly [id: number, method: keyof Core, args: readonly unknown[]];
export type Response = readonly [id: number, result: unknown, error?: string];

const session = new Session();

addEventListener('message', ({ data: [id, method, args] }: MessageEvent<Request>) => {
  try {
    const ask = session[method] as (...args: readonly unknown[]) => unknown;
    postMessage([id, printableData(ask.apply(session, [...args]))] satisfies Response);
  } catch (error) {
    postMessage([
      id,
      undefined,
      printableData(String((error as Error).message)) as string,
    ] satisfies Response);
  }
});
