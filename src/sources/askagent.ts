import type { AgentClient } from '../rpc/client.ts';
import { CommandError } from '../terminal/commanderror.ts';

/** Asks the agent behind the socket. Throws CommandError where none answers. */
export async function askAgent<T>(socket: string, ask: (agent: AgentClient) => Promise<T>): Promise<T> {
  const { connectAgent } = await import('../rpc/client.ts');
  const client = connectAgent(socket);
  try {
    return await ask(client);
  } catch (error) {
    throw new CommandError(`${whyNot(socket, (error as Error).message)}`);
  } finally {
    client.close();
  }
}

function whyNot(socket: string, message: string): string {
  if (/ENOENT|ECONNREFUSED/.test(message))
    return `no agent on this node (${socket}); pass --socket if it is elsewhere`;
  if (/EACCES/.test(message))
    return `only root may ask the agent (${socket}); pass --socket if it is elsewhere`;
  return `the agent (${socket}) cannot answer: ${message}`;
}
