import { Server, ServerCredentials } from '@grpc/grpc-js';
import { healthService } from './grpchealth.ts';
import { kniService } from './kni.ts';
import { loadSchema } from './schema.ts';
import { sluiceService } from './sluice.ts';
import { placeSocket } from './socketfile.ts';
import type { AgentView } from './view.ts';

export interface RpcOptions {
  readonly socket: string;
  readonly view: AgentView;
  /** How soon a change of health reaches those who watch it. */
  readonly watchMs?: number;
}

export interface RpcServer {
  close(): Promise<void>;
}

/** A pod's labels and annotations may have 256 KiB; nobody has a reason to send more than this. */
const LARGEST_MESSAGE = 1024 * 1024;

/** Serves KNI, health and the command's questions on a unix socket. Throws SocketInUse where an agent is alive. */
export async function serveRpc({ socket, view, watchMs = 1000 }: RpcOptions): Promise<RpcServer> {
  const server = new Server({
    'grpc.max_receive_message_length': LARGEST_MESSAGE,
    'grpc.max_concurrent_streams': 100,
  });
  const { kni, health, sluice } = loadSchema();
  server.addService(kni, kniService(view));
  server.addService(health, healthService(view, watchMs));
  server.addService(sluice, sluiceService(view));
  const placed = await placeSocket(socket, {
    listen: path => listen(server, path),
    stop: () => server.forceShutdown(),
  });
  return {
    close: async () => {
      await placed.remove();
      server.forceShutdown();
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), error =>
      error === null ? resolve() : reject(error),
    );
  });
}
