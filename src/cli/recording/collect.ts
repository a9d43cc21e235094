/** A recording of what the agent of this node knows, and of what it sees while somebody waits. */
import type { Recording } from '../../recording/recording.ts';
import { askAgent } from '../../sources/askagent.ts';
import { RecordingCollector } from './collector.ts';

export interface CollectOptions {
  /** 0: what is known now. */
  readonly seconds: number;
  readonly signal?: AbortSignal;
  /** Hears of it from time to time while it grows. */
  readonly onProgress?: (recording: Recording) => void;
}

const PROGRESS_MS = 60_000;

/** Throws CommandError where no agent answers, or its kernel tells of no connections. */
export function collectFromAgent(socket: string, options: CollectOptions): Promise<Recording> {
  return askAgent(socket, async agent => {
    const { seconds, signal, onProgress } = options;
    const collector = new RecordingCollector(agent);
    await collector.begin(seconds === 0);
    const ends = [AbortSignal.timeout(seconds * 1_000), ...(signal === undefined ? [] : [signal])];
    let toldMs = Date.now();
    for await (const message of seconds === 0 ? [] : agent.flows(AbortSignal.any(ends))) {
      if (message.facts?.error !== undefined) throw new Error(message.facts.error);
      await collector.take(message);
      if (onProgress === undefined || Date.now() - toldMs < PROGRESS_MS) continue;
      toldMs = Date.now();
      onProgress(await collector.recording());
    }
    return collector.recording();
  });
}
