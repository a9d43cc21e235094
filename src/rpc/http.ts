/** /livez, /readyz and /metrics, for kubelet and Prometheus. */
import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
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
}

export interface HttpServer {
  /** Where it listens. */
  readonly port: number;
  close(): Promise<void>;
}

export async function serveHttp({ address, view, metrics }: HttpOptions): Promise<HttpServer> {
  const { host, port } = parseListenAddress(address);
  const server = createServer(async (request, response) => {
    try {
      await answer(request.url ?? '/', response, view, metrics);
    } catch (error) {
      if (!response.headersSent) send(response, 500, `${(error as Error).message}\n`);
    }
  });
  server.requestTimeout = 10_000;
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
