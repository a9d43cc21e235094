/** Pods of a laboratory that start under a default deny that is in force, and whose first process sends at once. */
import type { Lab } from '../../../bench/lab/lab.ts';
import {
  AF_INET,
  AF_INET6,
  bind,
  close,
  type Fd,
  receive,
  SOCK_DGRAM,
  send,
  socket,
} from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { socketAddress } from '../../../bench/lab/probe/sockaddr.ts';
import { type Address, familyOf } from '../../../src/model/address.ts';
import { until } from '../until.ts';
import { type FakeRuntime, type PluginConnection, sandbox } from './fakeruntime.ts';

export const PORT = { allowed: 7000, denied: 7001, back: 7002 } as const;

let behind = 0;

/** Receives datagrams; each names the start from which it was sent. */
export class Receiver {
  readonly #lab: Lab;
  readonly #addresses: readonly Address[];
  readonly #port: number;
  readonly #fds: readonly Fd[];

  constructor(lab: Lab, addresses: readonly Address[], port: number) {
    this.#lab = lab;
    this.#addresses = addresses;
    this.#port = port;
    this.#fds = addresses.map(address => {
      const fd = datagramSocket(lab, address);
      bind(fd, socketAddress(address, port));
      return fd;
    });
  }

  arrived(): string[] {
    const texts: string[] = [];
    for (const fd of this.#fds)
      for (let got = receive(fd); got !== undefined; got = receive(fd)) texts.push(got.data.toString());
    return texts;
  }

  /**
   * Returns the remaining datagrams: `from` may always send, and when its last datagram has arrived, earlier ones of
   * others would have, too.
   */
  async last(from: readonly Address[]): Promise<string[]> {
    const missing = new Set<string>();
    for (const [i, to] of this.#addresses.entries()) {
      const text = `behind ${behind++}`;
      missing.add(text);
      sendOnce(this.#lab, from[i]!, to, this.#port, text);
    }
    const all: string[] = [];
    await until('what is sent behind the others', () => {
      all.push(...this.arrived().filter(text => !missing.delete(text)));
      return missing.size === 0;
    });
    return all;
  }

  close(): void {
    for (const fd of this.#fds) close(fd);
  }
}

function datagramSocket(lab: Lab, from: Address): Fd {
  const domain = familyOf(from) === 'ip' ? AF_INET : AF_INET6;
  return inNamespace(lab.namespaceOf(from), () => socket(domain, SOCK_DGRAM));
}

/** One datagram, from a port of its own: a new connection. */
export function sendOnce(lab: Lab, from: Address, to: Address, port: number, text: string): void {
  const fd = datagramSocket(lab, from);
  bind(fd, socketAddress(from));
  send(fd, Buffer.from(text), socketAddress(to, port));
  close(fd);
}

/** A runtime that starts pods whether a plugin is there or not, as containerd does. */
export class PodStarter {
  readonly #runtime: FakeRuntime;
  readonly #living = new Map<string, ReturnType<typeof sandbox>>();
  #plugin: PluginConnection | undefined;
  #closed = false;

  constructor(runtime: FakeRuntime) {
    this.#runtime = runtime;
    void this.#takeIn();
  }

  /** Waits for the plugin's word where there is one; answers whether it was given. */
  async start(key: string, addresses: readonly Address[]): Promise<boolean> {
    const pod = sandbox(key, addresses, { id: `${key} ${addresses[0]}`, uid: key });
    this.#living.set(key, pod);
    const plugin = this.#plugin;
    if (plugin === undefined) return false;
    return plugin.start(pod).then(
      () => true,
      () => false,
    );
  }

  async stop(key: string): Promise<void> {
    const pod = this.#living.get(key)!;
    this.#living.delete(key);
    await this.#plugin?.stop(pod).catch(() => {});
  }

  /** Until a plugin has been taken in. */
  async ready(): Promise<void> {
    await until('a plugin', () => this.#plugin !== undefined);
  }

  close(): void {
    this.#closed = true;
    this.#plugin?.peer.close('the test is over');
  }

  async #takeIn(): Promise<void> {
    while (!this.#closed) {
      const plugin = await this.#runtime.plugin();
      // It may be killed while it is taken in.
      await plugin.takeIn([...this.#living.values()], 120_000).then(
        () => {
          this.#plugin = plugin;
          void plugin.peer.ended.then(() => {
            if (this.#plugin === plugin) this.#plugin = undefined;
          });
        },
        () => {},
      );
    }
  }
}
