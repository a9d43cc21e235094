/** grpc.health.v1.Health: serving means that the node's pod network is ready. */
import { type ServerWritableStream, status, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { CallRefusal, unary } from './unary.ts';
import type { AgentView } from './view.ts';

interface Request {
  readonly service: string;
}

type Serving = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

/** The whole server, and each of its services. */
const SERVICES = new Set(['', 'kni.KNI', 'sluice.v1.Sluice']);

export function healthService(view: AgentView, pollMs: number): UntypedServiceImplementation {
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

/** Tells the state at once, then every change of it, until the caller hangs up. */
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
