/**
 * Sluice as a plugin of the container runtime, for as long as one connection lasts:
 *
 *     connect ─▶ RegisterPlugin ─▶ Configure ─▶ Synchronize: all sandboxes ─▶ StateChange: one starts, one stops …
 *
 * The runtime goes on with a pod's start when we answer, and disconnects whom it waits for too long.
 */
import type { Duplex } from 'node:stream';
import { decode, EVENT, encode, NRI_PACKAGE, type PodSandbox } from './messages.ts';
import { PLUGIN_SERVICE, RUNTIME_SERVICE } from './multiplex.ts';
import { RpcError, TTRPC_CODE, TtrpcPeer } from './peer.ts';

export interface Runtime {
  readonly name: string;
  readonly version: string;
  /** How long the runtime waits for an answer before it disconnects us; 0 if it does not state it. */
  readonly requestTimeoutMs: number;
}

export interface PluginHandlers {
  /** The runtime has taken us in. */
  configured(runtime: Runtime): void;
  /** Called with all living sandboxes: all others are gone. */
  synchronised(sandboxes: readonly PodSandbox[]): Promise<void>;
  /** None of its containers has started; they start when this settles, and the pod fails if it rejects. */
  started(sandbox: PodSandbox): Promise<void>;
  /** Called when all containers of the sandbox have ended. */
  stopped(sandbox: PodSandbox): void;
}

const NAME = { pluginName: 'sluice', pluginIdx: '90' };
const WANTED = [EVENT.runPodSandbox, EVENT.stopPodSandbox, EVENT.removePodSandbox];
const REGISTER_MS = 5_000;
/** The most sandboxes in all messages of one Synchronize: many times as many as fit on a node. */
const MOST_SANDBOXES = 100_000;
const MOST_TEXT = 64 << 20;
/** The name appears in logs and checks. */
const LONGEST_NAME = 100;

/** Registers over a connected socket, and serves until it ends; answers why it ended. Never rejects. */
export async function runPlugin(
  socket: Duplex,
  handlers: PluginHandlers,
  signal: AbortSignal,
): Promise<string> {
  const peer: TtrpcPeer = new TtrpcPeer({
    socket,
    serves: PLUGIN_SERVICE,
    calls: RUNTIME_SERVICE,
    serve: new Service(handlers, reason => peer.close(reason)).serve,
  });
  const stop = () => peer.close('the agent stops');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const late = setTimeout(() => peer.close('the runtime did not answer to RegisterPlugin'), REGISTER_MS);
  peer
    .call(`${NRI_PACKAGE}.Runtime`, 'RegisterPlugin', encode('RegisterPluginRequest', NAME))
    .catch(error => peer.close(`the runtime refused the plugin: ${(error as Error).message}`))
    .finally(() => clearTimeout(late));
  const reason = await peer.ended;
  signal.removeEventListener('abort', stop);
  return reason;
}

class Service {
  readonly #handlers: PluginHandlers;
  readonly #close: (reason: string) => void;
  /** The pods of a Synchronize that comes in pieces. */
  readonly #sandboxes: PodSandbox[] = [];
  readonly #withContainers = new Set<string>();
  #textLength = 0;

  constructor(handlers: PluginHandlers, close: (reason: string) => void) {
    this.#handlers = handlers;
    this.#close = close;
  }

  readonly serve = async (service: string, method: string, payload: Uint8Array): Promise<Buffer> => {
    if (service !== `${NRI_PACKAGE}.Plugin`)
      throw new RpcError(TTRPC_CODE.unimplemented, `no service ${service}`);
    switch (method) {
      case 'Configure':
        return this.#configure(payload);
      case 'Synchronize':
        return this.#synchronize(payload);
      case 'StateChange':
        return this.#stateChange(payload);
      case 'Shutdown':
        return encode('Empty', {});
      default:
        throw new RpcError(TTRPC_CODE.unimplemented, `no method ${method}`);
    }
  };

  #configure(payload: Uint8Array): Buffer {
    const { runtimeName, runtimeVersion, requestTimeout } = decode('ConfigureRequest', payload);
    this.#handlers.configured({
      name: runtimeName.slice(0, LONGEST_NAME),
      version: runtimeVersion.slice(0, LONGEST_NAME),
      requestTimeoutMs: Math.max(0, requestTimeout),
    });
    return encode('ConfigureResponse', {
      events: WANTED.reduce((bits, event) => bits | (1 << (event - 1)), 0),
    });
  }

  async #synchronize(payload: Uint8Array): Promise<Buffer> {
    const { pods, containers, more } = decode('SynchronizeRequest', payload);
    for (const pod of pods) this.#sandboxes.push(pod);
    for (const { podSandboxId } of containers) this.#withContainers.add(podSandboxId);
    this.#textLength += JSON.stringify([pods, containers]).length;
    this.#refuseTooMany();
    if (more) return encode('SynchronizeResponse', { more });
    // Sandboxes that have ended and are still to be removed are reported too, with addresses that others may have by now.
    const living = this.#sandboxes.filter(({ id, pid }) => pid > 0 || this.#withContainers.has(id));
    this.#forget();
    await this.#handlers.synchronised(living);
    return encode('SynchronizeResponse', {});
  }

  /** Refuses the rest of a list, too, after one part was refused: the rest alone would be taken for the whole list. */
  #refuseTooMany(): void {
    const count = this.#sandboxes.length + this.#withContainers.size;
    if (count <= MOST_SANDBOXES && this.#textLength <= MOST_TEXT) return;
    const reason = `a Synchronize of more than ${MOST_SANDBOXES} sandboxes and containers, or ${MOST_TEXT} letters`;
    this.#forget();
    this.#close(reason);
    throw new Error(reason);
  }

  #forget(): void {
    this.#sandboxes.length = 0;
    this.#withContainers.clear();
    this.#textLength = 0;
  }

  async #stateChange(payload: Uint8Array): Promise<Buffer> {
    const { event, pod } = decode('StateChangeEvent', payload);
    if (pod !== undefined && pod !== null) {
      if (event === EVENT.runPodSandbox) await this.#handlers.started(pod);
      if (event === EVENT.stopPodSandbox || event === EVENT.removePodSandbox) this.#handlers.stopped(pod);
    }
    return encode('Empty', {});
  }
}
