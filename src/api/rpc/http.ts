/** /livez, /readyz and /metrics, for the kubelet and for programs on the node. */
import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { Registry } from 'prom-client';
import { printable } from '../../terminal/printable.ts';
import type { Check } from '../health/check.ts';
import { HTTP_LIMITS, type HttpLimits, type HttpServer, listenHttp, timeouts } from './listener.ts';
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

export async function serveHttp(options: HttpOptions): Promise<HttpServer> {
  const { address, view, metrics, limits = HTTP_LIMITS } = options;
  const server = createServer(timeouts(limits), async (request, response) => {
    try {
      await answer(request.url ?? '/', response, view, metrics);
    } catch (error) {
      if (!response.headersSent) sendText(response, 500, `${(error as Error).message}\n`);
    }
  });
  return listenHttp(server, address, limits);
}

async function answer(
  url: string,
  response: ServerResponse,
  view: AgentView,
  metrics: Registry,
): Promise<void> {
  switch (url.split('?')[0]) {
    case '/livez': // an answer shows that the event loop runs
      return sendText(response, 200, 'ok\n');
    case '/readyz': {
      const { ready, checks } = await view.health();
      return sendText(response, ready ? 200 : 503, `${checks.map(checkLine).join('\n')}\n`);
    }
    case '/metrics':
      return sendText(response, 200, await metrics.metrics(), metrics.contentType);
    default:
      return sendText(response, 404, 'here are /livez, /readyz and /metrics\n');
  }
}

/** Reasons contain names that tenants chose, and people read this text with curl at a terminal. */
function checkLine({ name, state, reason, remedy }: Check): string {
  return printable(`${state.padEnd(7)} ${name}: ${reason}${remedy === '' ? '' : `; ${remedy}`}`);
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type }).end(text);
}
