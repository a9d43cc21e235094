import { vi } from 'vitest';
import { type AgentClient, connectAgent } from '../../../src/api/rpc/client.ts';

/** Connects as soon as the agent serves. */
export function clientOf(socket: string): Promise<AgentClient> {
  return vi.waitFor(
    async () => {
      const client = connectAgent(socket);
      try {
        await client.status();
      } catch (error) {
        client.close();
        throw error;
      }
      return client;
    },
    { timeout: 60_000, interval: 20 },
  );
}
