import { expect, test } from 'vitest';
import type { Owner } from '../../nft/kernel.ts';
import { agentHasEnded } from './thisnode.ts';

/** Milliseconds until it answers, where the agent leaves its mark, and the tables, at these times. */
async function waited(agent: { readonly markMs?: number; readonly leavesMs?: number }): Promise<number> {
  const { markMs = Infinity, leavesMs = 0 } = agent;
  let nowMs = 0;
  await agentHasEnded(16_000, {
    owner: async (): Promise<Owner> => (nowMs < leavesMs ? 'another' : 'none'),
    isMarked: async () => nowMs >= markMs,
    sleep: async ms => {
      nowMs += ms;
    },
    now: () => nowMs,
  });
  return nowMs;
}

test.each([
  ['goes on as soon as the agent has left its mark', { markMs: 700 }, 700],
  ['and its process is gone, which owned the tables', { markMs: 700, leavesMs: 900 }, 900],
  ['waits for an agent without a mark until the runtime has ended it', {}, 16_000],
  ['believes no mark of an agent that still owns its tables', { markMs: 0, leavesMs: Infinity }, 16_000],
])('agentHasEnded() %s', async (_, agent, ms) => {
  expect(await waited(agent)).toBe(ms);
});
