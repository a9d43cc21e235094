/** Collects the connections that each agent reports during an action, as `sluice record` does. */
import { expect } from 'vitest';
import type { AgentClient } from '../../../src/api/rpc/client.ts';
import { RecordingCollector } from '../../../src/cli/recording/collect.ts';
import type { Recording } from '../../../src/observe/recording/recording.ts';

/** The recording ends when no agent has reported anything for this long, because some reports are late. */
const QUIET_MS = 500;

export async function recordedWhile(
  clients: readonly AgentClient[],
  act: () => Promise<void>,
): Promise<Recording[]> {
  const end = new AbortController();
  let lastMs = performance.now();
  const followed = clients.map(client => {
    const collector = new RecordingCollector(client);
    const begun = Promise.withResolvers<void>();
    const over = (async () => {
      await collector.begin(false);
      for await (const message of client.flows(end.signal)) {
        begun.resolve(); // the facts come first
        collector.take(message);
        if (message.facts === undefined) lastMs = performance.now();
      }
    })();
    over.catch(begun.reject);
    return { collector, begun: begun.promise, over };
  });
  await Promise.all(followed.map(({ begun }) => begun));
  await act();
  lastMs = performance.now();
  await expect.poll(() => performance.now() - lastMs, { timeout: 30_000 }).toBeGreaterThan(QUIET_MS);
  end.abort();
  await Promise.all(followed.map(({ over }) => over));
  return Promise.all(followed.map(({ collector }) => collector.part()));
}
