/** A container runtime as NRI's plugins see it: a unix socket, and the calls that containerd makes. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import {
  decode,
  EVENT,
  encode,
  type Messages,
  NRI_PACKAGE,
  type PodSandbox,
} from '../src/network/nri/messages.ts';
import { PLUGIN_SERVICE, RUNTIME_SERVICE } from '../src/network/nri/multiplex.ts';
import { TtrpcPeer } from '../src/network/nri/peer.ts';

const PLUGIN = `${NRI_PACKAGE}.Plugin`;

export function sandbox(key: string, ips: readonly string[], more: Partial<PodSandbox> = {}): PodSandbox {
  const [namespace = '', name = ''] = key.split('/');
  const linux = { namespaces: [{ type: 'network', path: '/run/netns/x' }] };
  return { id: `id-${key}`, name, namespace, uid: `uid-${key}`, labels: {}, linux, pid: 1, ips, ...more };
}

/** One plugin's connection. */
export class PluginConnection {
  readonly socket: Socket;
  readonly peer: TtrpcPeer;
  /** The request with which the plugin registered. */
  readonly registered: Promise<Messages['RegisterPluginRequest']>;

  constructor(socket: Socket) {
    this.socket = socket;
    const { promise, resolve } = Promise.withResolvers<Messages['RegisterPluginRequest']>();
    this.registered = promise;
    this.peer = new TtrpcPeer({
      socket,
      serves: RUNTIME_SERVICE,
      calls: PLUGIN_SERVICE,
      serve: async (_service, _method, payload) => {
        resolve(decode('RegisterPluginRequest', payload));
        return encode('Empty', {});
      },
    });
  }

  /** Does what containerd does with a plugin that has registered; returns the events to which it subscribed. */
  async takeIn(sandboxes: readonly PodSandbox[], requestTimeout = 2000): Promise<number> {
    const events = await this.configure(requestTimeout);
    await this.synchronize(sandboxes);
    return events;
  }

  /** The first half of it. */
  async configure(requestTimeout = 2000): Promise<number> {
    await this.registered;
    const request = { runtimeName: 'fake', runtimeVersion: 'v2', requestTimeout };
    const answer = await this.peer.call(PLUGIN, 'Configure', encode('ConfigureRequest', request));
    return decode('ConfigureResponse', answer).events;
  }

  async synchronize(sandboxes: readonly PodSandbox[]): Promise<void> {
    await this.peer.call(PLUGIN, 'Synchronize', encode('SynchronizeRequest', { pods: sandboxes }));
  }

  /** Settles when the plugin lets the pod start. */
  async start(pod: PodSandbox): Promise<void> {
    await this.#send(EVENT.runPodSandbox, pod);
  }

  async stop(pod: PodSandbox): Promise<void> {
    await this.#send(EVENT.stopPodSandbox, pod);
  }

  async #send(event: number, pod: PodSandbox): Promise<void> {
    await this.peer.call(PLUGIN, 'StateChange', encode('StateChangeEvent', { event, pod }));
  }
}

export class FakeRuntime {
  readonly path: string;
  readonly #server: Server;
  readonly #connections: PluginConnection[] = [];
  readonly #waiting: ((connection: PluginConnection) => void)[] = [];

  private constructor(path: string, server: Server) {
    this.path = path;
    this.#server = server;
    server.on('connection', socket => {
      const connection = new PluginConnection(socket);
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#connections.push(connection);
      else waiting(connection);
    });
  }

  static async listen(path: string): Promise<FakeRuntime> {
    const server = createServer();
    server.listen(path);
    await once(server, 'listening');
    return new FakeRuntime(path, server);
  }

  /** The next plugin that connects. */
  plugin(): Promise<PluginConnection> {
    const there = this.#connections.shift();
    return there === undefined ? new Promise(resolve => this.#waiting.push(resolve)) : Promise.resolve(there);
  }

  /** Ends like a runtime that restarts: all clients are disconnected. */
  async close(connections: readonly PluginConnection[] = []): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const { peer } of [...connections, ...this.#connections]) peer.close('the runtime restarts');
    await closed;
  }
}
