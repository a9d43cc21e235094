/** Until the agent of this node has ended, for a cleaner that starts beside it. */
import type { Owner } from '../../nft/kernel.ts';

export interface AgentEnd {
  readonly owner: () => Promise<Owner>;
  /** Whether the tables have the mark of an agent that ended because it is being removed. */
  readonly isMarked: () => Promise<boolean>;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly now: () => number;
}

const POLL_MS = 100;

/**
 * An agent that was killed, or never came up, leaves no mark: `mostMs` is when the runtime has surely ended it. Then
 * whoever owns the tables is no agent that was told to end.
 */
export async function agentHasEnded(
  mostMs: number,
  { owner, isMarked, sleep, now }: AgentEnd,
): Promise<void> {
  const endMs = now() + mostMs;
  while (now() < endMs) {
    if ((await owner()) !== 'another' && (await isMarked())) return;
    await sleep(POLL_MS);
  }
}
