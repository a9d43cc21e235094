/** /livez, /readyz and /metrics, for kubelet and Prometheus. */
import type { ServerOptions, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo, Socket } from 'node:net';
import type { Registry } from 'prom-client';
import type { Check } from '../health/check.ts';
import type { AgentView } from './view.ts';

// `import` would read all that the module exports, and to read its WebSocket loads undici: 10 MB (measured).
const { createServer }: typeof import('node:http') = createRequire(import.meta.url)('node:http');

export interface HttpOptions {
  /** `127.0.0.1:9910`, `[::1]:9910`; port 0 takes any. */
  readonly address: string;
  readonly view: AgentView;
  readonly metrics: Registry;
  readonly limits?: HttpLimits;
}

/** Whatever runs in the node's network may connect, a pod with hostNetwork too. */
export interface HttpLimits {
  /** For a whole request, and for the next one on a connection. */
  readonly patienceMs: number;
  /** How often connections are looked through for those that are late. */
  readonly checkMs: number;
  /** The oldest goes where there are more: a kubelet or a Prometheus has two or three, for milliseconds. */
  readonly mostConnections: number;
}

const LIMITS: HttpLimits = { patienceMs: 5_000, checkMs: 1_000, mostConnections: 64 };

export interface HttpServer {
  /** Where it listens. */
  readonly port: number;
  close(): Promise<void>;
}

export async function serveHttp(options: HttpOptions): Promise<HttpServer> {
  const { address, view, metrics, limits = LIMITS } = options;
  const { host, port } = parseListenAddress(address);
  const server = createServer(timeouts(limits), async (request, response) => {
    try {
      await answer(request.url ?? '/', response, view, metrics);
    } catch (error) {
      if (!response.headersSent) send(response, 500, `${(error as Error).message}\n`);
    }
  });
  const connections = new Set<Socket>();
  server.on('connection', caller => admit(caller, connections, limits));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function timeouts({ patienceMs, checkMs }: HttpLimits): ServerOptions {
  return {
    headersTimeout: patienceMs,
    requestTimeout: patienceMs,
    keepAliveTimeout: patienceMs,
    connectionsCheckingInterval: checkMs,
    maxHeaderSize: 8192,
  };
}

function admit(caller: Socket, connections: Set<Socket>, { patienceMs, mostConnections }: HttpLimits): void {
  const [oldest] = connections;
  if (connections.size >= mostConnections) oldest!.destroy();
  connections.add(caller);
  caller.once('close', () => connections.delete(caller));
  caller.setTimeout(patienceMs, () => caller.destroy()); // who says nothing at all has no request to be late with
}

/** `host:port`; an IPv6 address is in brackets. Throws RangeError. */
export function parseListenAddress(text: string): { host: string; port: number } {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(found?.[3]);
  if (found === null || port > 65535)
    throw new RangeError(`"${text}" is not an address such as 127.0.0.1:9910`);
  return { host: found[1] ?? found[2]!, port };
}

async function answer(
  url: string,
  response: ServerResponse,
  view: AgentView,
  metrics: Registry,
): Promise<void> {
  switch (url.split('?')[0]) {
    case '/livez': // Whoever answers here has an event loop that turns.
      return send(response, 200, 'ok\n');
    case '/readyz': {
      const { ready, checks } = await view.health();
      return send(response, ready ? 200 : 503, `${checks.map(checkLine).join('\n')}\n`);
    }
    case '/metrics':
      return send(response, 200, await metrics.metrics(), metrics.contentType);
    default:
      return send(response, 404, 'here are /livez, /readyz and /metrics\n');
  }
}

function checkLine({ name, state, reason, remedy }: Check): string {
  return `${state.padEnd(7)} ${name}: ${reason}${remedy === '' ? '' : `; ${remedy}`}`;
}

function send(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type }).end(text);
}
