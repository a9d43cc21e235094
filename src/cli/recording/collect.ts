/** A recording of what the agent of this node knows, and of what it sees while somebody waits, in parts. */

import type { AgentClient } from '../../api/rpc/client.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { Recording } from '../../observe/recording/recording.ts';
import { askAgent } from '../sources/askagent.ts';
import { RecordingCollector } from './collector.ts';

export interface CollectOptions {
  /** Absent: only what is known now. */
  readonly end?: AbortSignal;
  /** Hears of each part: now and then, and at the end. */
  readonly take: (part: Recording) => void;
}

const PART_MS = 60_000;

/** Throws CommandError where no agent answers, or its kernel tells of no connections. */
export function collectFromAgent(socket: string, { end, take }: CollectOptions): Promise<void> {
  return askAgent(socket, async agent => {
    const collector = new RecordingCollector(agent);
    const tell = async () => take(await collector.part());
    await collector.begin(end === undefined);
    if (end !== undefined) await follow(agent, collector, end, tell);
    await tell();
  });
}

async function follow(
  agent: AgentClient,
  collector: RecordingCollector,
  end: AbortSignal,
  tell: () => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const until = AbortSignal.any([end, over.signal]);
  const telling = tellEvery(PART_MS, tell, until);
  telling.catch(() => over.abort());
  try {
    for await (const message of agent.flows(until)) {
      if (message.facts?.error !== undefined) throw new Error(message.facts.error);
      collector.take(message);
    }
  } finally {
    over.abort();
  }
  await telling;
}

async function tellEvery(everyMs: number, tell: () => Promise<void>, until: AbortSignal): Promise<void> {
  await sleep(everyMs, until);
  while (!until.aborted) {
    await tell();
    await sleep(everyMs, until);
  }
}
