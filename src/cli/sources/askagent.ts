import type { AgentClient } from '../../api/rpc/client.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { DEFAULT_SOCKET } from './options.ts';

/** Asks the agent behind the socket. Throws CommandError where none answers. */
export async function askAgent<T>(socket: string, ask: (agent: AgentClient) => Promise<T>): Promise<T> {
  const { connectAgent } = await import('../../api/rpc/client.ts');
  const client = connectAgent(socket);
  try {
    return await ask(client);
  } catch (error) {
    throw new CommandError(whyNot(socket, (error as Error).message));
  } finally {
    client.close();
  }
}

function whyNot(socket: string, message: string): string {
  const refusal = /ENOENT|ENOTDIR|ECONNREFUSED|EACCES/.exec(message)?.[0];
  if (refusal === undefined) return `the agent (${socket}) cannot answer: ${message}`;
  // Who has named a socket needs no word that one can.
  const isNamed = socket !== DEFAULT_SOCKET;
  const elsewhere = isNamed ? '' : '; pass --socket if it is elsewhere';
  if (refusal === 'EACCES') return `only root may ask the agent (${socket})${elsewhere}`;
  if (!isNamed) return `no agent on this node (${socket})${elsewhere}`;
  return `no agent at ${socket}: ${refusal === 'ECONNREFUSED' ? 'nobody listens there' : 'there is no such socket'}`;
}
