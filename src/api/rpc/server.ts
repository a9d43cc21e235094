import {
  Server,
  ServerCredentials,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { kniService } from './kni.ts';
import { reflectionService } from './reflection.ts';
import { loadReflection, loadSchema } from './schema.ts';
import { sluiceService } from './sluice.ts';
import { placeSocket } from './socketfile.ts';
import { CallRefusal, unary } from './unary.ts';
import type { AgentView } from './view.ts';

export interface RpcOptions {
  readonly socket: string;
  readonly view: AgentView;
  /** How often health is checked for clients that watch it. */
  readonly watchMs?: number;
}

export interface RpcServer {
  close(): Promise<void>;
}

/** A pod's labels and annotations may have 256 KiB; no request needs more than this. */
const LARGEST_MESSAGE = 1024 * 1024;

/** Serves KNI, health and the command's questions on a unix socket. Throws SocketInUse where an agent is alive. */
export async function serveRpc({ socket, view, watchMs = 1000 }: RpcOptions): Promise<RpcServer> {
  const server = new Server({
    'grpc.max_receive_message_length': LARGEST_MESSAGE,
    'grpc.max_concurrent_streams': 100,
  });
  const { kni, health, sluice, descriptors } = loadSchema();
  const reflection = loadReflection();
  server.addService(kni, kniService(view));
  server.addService(health, healthService(view, watchMs));
  server.addService(sluice, sluiceService(view));
  server.addService(
    reflection.service,
    reflectionService([...SERVICE_NAMES, REFLECTION], [...descriptors, ...reflection.descriptors]),
  );
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

/** grpc.health.v1.Health: serving means that the node's pod network is ready. */
interface Request {
  readonly service: string;
}

type Serving = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

const SERVICE_NAMES = ['kni.KNI', 'grpc.health.v1.Health', 'sluice.v1.Sluice'];
const REFLECTION = 'grpc.reflection.v1.ServerReflection';
/** The services that have a health status; the empty name means the whole server. */
const SERVICES = new Set(['', 'kni.KNI', 'sluice.v1.Sluice']);

function healthService(view: AgentView, pollMs: number): UntypedServiceImplementation {
  return {
    Check: unary(async ({ service }: Request) => {
      if (!SERVICES.has(service)) throw new CallRefusal(status.NOT_FOUND, `no service "${service}" here`);
      return { status: await servingOf(view) };
    }),
    Watch: (call: ServerWritableStream<Request, { status: Serving }>) => watch(call, view, pollMs),
  };
}

async function servingOf(view: AgentView): Promise<Serving> {
  return (await view.health()).ready ? 'SERVING' : 'NOT_SERVING';
}

/** Sends the state at once, then every change of it, until the client disconnects. */
function watch(
  call: ServerWritableStream<Request, { status: Serving }>,
  view: AgentView,
  pollMs: number,
): void {
  let sent: Serving | undefined;
  const look = async () => {
    const state = SERVICES.has(call.request.service) ? await servingOf(view) : 'SERVICE_UNKNOWN';
    if (call.cancelled || state === sent) return;
    sent = state;
    call.write({ status: state });
  };
  const timer = setInterval(() => void look(), pollMs);
  timer.unref();
  call.on('cancelled', () => {
    clearInterval(timer);
    call.end();
  });
  call.on('close', () => clearInterval(timer));
  void look();
}
