/** Asks a running agent. */
import { type Client, credentials, type ServiceError } from '@grpc/grpc-js';
import type { StateObject, StatusResponse } from './messages.ts';
import { loadSchema } from './schema.ts';

const DEADLINE_MS = 10_000;

export interface AgentClient {
  status(): Promise<StatusResponse>;
  state(): Promise<readonly StateObject[]>;
  close(): void;
}

interface Calls extends Client {
  Status(
    request: object,
    options: { deadline: number },
    callback: (error: ServiceError | null, response: StatusResponse) => void,
  ): void;
  State(request: object, options: { deadline: number }): AsyncIterable<StateObject>;
}

export function connectAgent(socket: string): AgentClient {
  const { SluiceClient } = loadSchema();
  // A name without special characters, where HTTP/2 wants an authority.
  const options = { 'grpc.default_authority': 'localhost' };
  const client = new SluiceClient(
    `unix:${socket}`,
    credentials.createInsecure(),
    options,
  ) as unknown as Calls;
  const deadline = () => ({ deadline: Date.now() + DEADLINE_MS });
  return {
    status: () =>
      new Promise((resolve, reject) => {
        client.Status({}, deadline(), (error, response) => (error ? reject(error) : resolve(response)));
      }),
    state: () => collect(client.State({}, deadline())),
    close: () => client.close(),
  };
}

async function collect(stream: AsyncIterable<StateObject>): Promise<StateObject[]> {
  const objects: StateObject[] = [];
  for await (const object of stream) objects.push(object);
  return objects;
}
