/** Waits for the time to pass, or until the signal is aborted; never rejects. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms <= 0 || signal?.aborted) return Promise.resolve();
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}

/** Waits until the work has settled, but no longer than `ms`; never rejects. */
export async function settledWithin(ms: number, work: Promise<unknown>): Promise<void> {
  const enough = new AbortController();
  await Promise.race([work.catch(() => undefined), sleep(ms, enough.signal)]);
  enough.abort();
}
