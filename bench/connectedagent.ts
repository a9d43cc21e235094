import { setTimeout } from 'node:timers/promises';
import { type AgentClient, connectAgent } from '../src/api/rpc/client.ts';

/** As soon as the agent of that socket serves. Throws where it has not for half a minute. */
export async function connectedAgent(socket: string): Promise<AgentClient> {
  for (const deadline = Date.now() + 30_000; ; await setTimeout(50)) {
    const client = connectAgent(socket);
    try {
      await client.status();
      return client;
    } catch (error) {
      client.close();
      if (Date.now() > deadline) throw error;
    }
  }
}
