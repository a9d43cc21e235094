/** An HTTP server with limits against slow clients: anything that can reach its address may connect. */
import type { Server, ServerOptions } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface HttpLimits {
  /** How long a whole request may take, and how long a connection may wait for the next one. */
  readonly patienceMs: number;
  /** How often connections are looked through for those that are late. */
  readonly checkMs: number;
  /** The oldest goes where there are more: a kubelet or a Prometheus has two or three, for milliseconds. */
  readonly mostConnections: number;
}

export const HTTP_LIMITS: HttpLimits = { patienceMs: 5_000, checkMs: 1_000, mostConnections: 64 };

export interface HttpServer {
  /** The port on which it listens. */
  readonly port: number;
  close(): Promise<void>;
}

/** `address`: `127.0.0.1:9910`, `[::1]:9910`; port 0 takes any. */
export async function listenHttp(
  server: Server,
  address: string,
  limits: HttpLimits,
  isWelcome: (caller: Socket) => boolean = () => true,
): Promise<HttpServer> {
  const { host, port } = parseListenAddress(address);
  // One request for each connection: limits count connections, so further requests on one would not be counted, and
  // they would delay other clients.
  server.maxRequestsPerSocket = 1;
  server.prependListener('request', ({ socket }, response) => {
    response.once('finish', () => socket.destroySoon());
  });
  const connections = new Set<Socket>();
  server.on('connection', caller => {
    if (isWelcome(caller)) admit(caller, connections, limits);
    else caller.destroy();
  });
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

export function timeouts({ patienceMs, checkMs }: HttpLimits): ServerOptions {
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
  // A client that sends nothing has begun no request, so the request timeout does not apply to it.
  caller.setTimeout(patienceMs, () => caller.destroy());
}

/** `host:port`; an IPv6 address is in brackets. Throws RangeError. */
export function parseListenAddress(text: string): { host: string; port: number } {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(found?.[3]);
  if (found === null || port > 65535)
    throw new RangeError(`"${text}" is not an address such as 127.0.0.1:9910`);
  return { host: found[1] ?? found[2]!, port };
}
