/** The worker: answers one question after another, so that the page never waits with its frames. */
import { printableData } from './printabledata.ts';
import type { Core, Model } from './protocol.ts';
import { Session } from './session.ts';

export type Request = readonly [id: number, method: keyof Core, args: readonly unknown[]];
export type Response = readonly [id: number, result: unknown, error?: string];

const session = new Session();

addEventListener('message', async ({ data: [id, method, args] }: MessageEvent<Request>) => {
  try {
    const ask = session[method] as (...args: readonly unknown[]) => unknown;
    const result = printableData(await ask.apply(session, [...args]));
    const { cells } = (result ?? {}) as Partial<Model>;
    // The largest part of an answer is handed over, not copied.
    postMessage([id, result] satisfies Response, { transfer: cells === undefined ? [] : [cells.buffer] });
  } catch (error) {
    postMessage([
      id,
      undefined,
      printableData(String((error as Error).message)) as string,
    ] satisfies Response);
  }
});
