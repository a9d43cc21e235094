/** Stands between the agent and the API server, and does to the connections what networks do. */
import net, { type AddressInfo, type Socket } from 'node:net';
import { SERVER } from './controlplane.ts';

/** What becomes of one connection. Bytes count those from the server. */
export type Fate =
  | { readonly kind: 'whole' }
  /** Reset after so many bytes: in the middle of a list, or of a character. */
  | { readonly kind: 'cut'; readonly bytes: number }
  | { readonly kind: 'reset'; readonly afterMs: number }
  /** Silent for so long after so many bytes, then it goes on. */
  | { readonly kind: 'stall'; readonly bytes: number; readonly ms: number }
  /** Ends in order after so many bytes, as if the server had said all. */
  | { readonly kind: 'end'; readonly bytes: number };

export class Saboteur {
  readonly #server: net.Server;
  readonly #sockets = new Set<Socket>();
  /** Asked for each new connection. */
  fate: () => Fate = () => ({ kind: 'whole' });
  /** Connections that were let through so far. */
  connections = 0;

  static async start(): Promise<Saboteur> {
    const saboteur = new Saboteur();
    await new Promise<void>(resolve => saboteur.#server.listen(0, SERVER.address, resolve));
    return saboteur;
  }

  private constructor() {
    this.#server = net.createServer(socket => this.#connect(socket));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resets all connections that are open. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.cutAll();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #connect(client: Socket): void {
    this.connections++;
    const server = net.connect(SERVER.port, SERVER.address);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.resetAndDestroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    client.pipe(server);
    forward(server, client, this.fate());
  }
}

function forward(server: Socket, client: Socket, fate: Fate): void {
  const reset = () => client.resetAndDestroy();
  if (fate.kind === 'reset') setTimeout(reset, fate.afterMs);
  if (fate.kind === 'whole' || fate.kind === 'reset') {
    server.pipe(client);
    return;
  }
  let left = fate.bytes;
  server.on('end', () => client.end());
  server.on('data', (chunk: Buffer) => {
    const isDue = left >= 0 && left < chunk.length;
    if (isDue && fate.kind === 'cut') client.write(chunk.subarray(0, left), reset);
    else if (isDue && fate.kind === 'end') client.end(chunk.subarray(0, left));
    else if (!client.destroyed && !client.writableEnded) client.write(chunk);
    if (isDue && fate.kind === 'stall') {
      server.pause();
      setTimeout(() => server.resume(), fate.ms);
    }
    left = isDue ? -1 : left < 0 ? left : left - chunk.length;
  });
}
