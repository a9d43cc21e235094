/** For a server that forbids, for a while, what it will allow or no longer knows us for. */
import { sleep } from '../../../lib/async/sleep.ts';
import { ApiError } from './apierror.ts';

/** Asks again while the answer is 403, for so many milliseconds; throws what `ask` throws last. */
export async function unlessForbidden<T>(ask: () => Promise<T>, forMs: number, everyMs: number): Promise<T> {
  const endMs = performance.now() + forMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 403) || performance.now() > endMs) throw error;
    }
    await sleep(everyMs);
  }
}
