/** A node and sandboxes as named network namespaces, for tests of the pod network. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { inNamespace } from '../../../bench/lab/netns.ts';
import type { Address } from '../../../src/model/address.ts';
import { NamespaceHelper } from '../../../src/network/attach/helper.ts';

let made = 0;

export class PodSite {
  readonly helper = new NamespaceHelper();
  readonly node: string;
  readonly #prefix = `/run/netns/sluice-lab-${process.pid}-pods${made++}`;
  readonly #paths = new Set<string>();
  readonly #homes = new Map<string, string>();

  constructor() {
    this.node = this.path('node');
  }

  /** A node that forwards. */
  static async build(): Promise<PodSite> {
    const site = new PodSite();
    await site.add('node');
    inNamespace(site.node, () => {
      for (const key of ['ipv4/ip_forward', 'ipv6/conf/all/forwarding'])
        writeFileSync(`/proc/sys/net/${key}`, '1');
    });
    site.exec(site.node, 'ip', ['link', 'set', 'lo', 'up']);
    return site;
  }

  path(name: string): string {
    return `${this.#prefix}.${name}`;
  }

  /** The path of a new sandbox's namespace. */
  async add(name: string): Promise<string> {
    const path = this.path(name);
    await this.helper.create(path);
    this.#paths.add(path);
    return path;
  }

  async drop(name: string): Promise<void> {
    await this.helper.remove(this.path(name));
    this.#paths.delete(this.path(name));
  }

  /** Says where an address lives, for `probe`. */
  settle(name: string, addresses: readonly string[]): void {
    this.settleAt(this.path(name), addresses);
  }

  /** The same, by the path of the namespace. */
  settleAt(path: string, addresses: readonly string[]): void {
    for (const address of addresses) this.#homes.set(address, path);
  }

  namespaceOf = (address: Address): string => {
    const home = this.#homes.get(address);
    if (home === undefined) throw new Error(`no pod has ${address}`);
    return home;
  };

  exec(namespace: string, command: string, args: readonly string[]): string {
    return inNamespace(namespace, () => execFileSync(command, args, { encoding: 'utf8' }));
  }

  /** Names of the node's interfaces but its loopback. */
  devices(): string[] {
    const links = JSON.parse(this.exec(this.node, 'ip', ['-j', 'link'])) as { ifname: string }[];
    return links.map(({ ifname }) => ifname).filter(name => name !== 'lo');
  }

  /** Destinations of all routes of Sluice's in the node. */
  routes(): string[] {
    return ['-4', '-6'].flatMap(family => {
      const text = this.exec(this.node, 'ip', ['-j', family, 'route', 'show', 'proto', '115']);
      return (JSON.parse(text || '[]') as { dst: string }[]).map(({ dst }) => dst);
    });
  }

  /** Those of them that lead to a pod. */
  podRoutes(): string[] {
    return this.routes().filter(destination => !destination.includes('/'));
  }

  async close(): Promise<void> {
    for (const path of this.#paths) if (existsSync(path)) await this.helper.remove(path);
    await this.helper.close();
  }
}
