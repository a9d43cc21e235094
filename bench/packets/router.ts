/**
 * A network namespace that forwards: clients behind one veth pair, pods behind another. The far interfaces are in the
 * same namespace and drop what they receive, because it has another interface's MAC address.
 */
import { writeFileSync } from 'node:fs';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import type { QueueBy, Ruleset } from '../../src/nft/ruleset.ts';
import { Netns } from '../lab/unnamed.ts';
import { replyTo, type UdpFlow } from './flows.ts';
import { Injector } from './injector.ts';
import { NotMeasurable } from './notmeasurable.ts';

export const OUTSIDE = 0;
export const INSIDE = 1;

export interface RouterOptions {
  /** Compiled bench/inject.c. */
  readonly program: string;
  /** Begins the names of files that the router may make. */
  readonly files: string;
  /** Flows from clients to pods; their number is a power of two. */
  readonly flows: readonly UdpFlow[];
  /** The pods are behind a port of a bridge. */
  readonly bridged?: boolean;
}

/** The hardware address that every injected frame comes from: as in bench/inject.c. */
export const SENDER = '02:00:00:00:00:01';

export class Router {
  readonly name: string;
  readonly #netns: Netns;
  #injector: Injector | undefined;
  #injected = 0;

  private constructor(name: string, netns: Netns) {
    this.name = name;
    this.#netns = netns;
  }

  /** Throws NotMeasurable. */
  static async make(name: string, options: RouterOptions): Promise<Router> {
    const { program, files, flows, bridged = false } = options;
    const router = new Router(name, ownNamespace());
    try {
      router.#wire(bridged);
      router.#injector = await Injector.start(program, router.#netns, files, [
        { device: 'outside', flows },
        { device: 'inside', flows: flows.map(replyTo) },
      ]);
      return router;
    } catch (error) {
      router.close();
      throw error;
    }
  }

  /** ns of CPU time per packet. */
  async inject(entrance: typeof OUTSIDE | typeof INSIDE, packets: number): Promise<number> {
    const time = await this.#injector!.run(entrance, packets);
    this.#injected += packets;
    return time / packets;
  }

  /** How many packets it was sent. */
  get injected(): number {
    return this.#injected;
  }

  /** The index of the interface that packets of OUTSIDE come by. */
  get uplink(): number {
    return this.index('outside');
  }

  index(device: 'outside' | 'inside' | 'bridge'): number {
    const [link] = JSON.parse(this.#netns.exec('ip', ['-j', 'link', 'show', 'dev', device]));
    return link.ifindex;
  }

  /** Our tables, put up the way that the agent does it. */
  async commit(ruleset: Ruleset): Promise<void> {
    const kernel = await this.#netns.run(() => openNftKernel());
    try {
      await kernel.commit(plan({ tables: new Map() }, ruleset));
    } finally {
      kernel.close();
    }
  }

  /** How packets can wait in this kernel. */
  async queue(): Promise<QueueBy | undefined> {
    const kernel = await this.#netns.run(() => openNftKernel());
    kernel.close();
    return kernel.queue;
  }

  /** Runs in the router's network namespace. */
  run<T>(work: () => T): T {
    return this.#netns.run(work);
  }

  /** A table of the benchmark's own, as nft text. */
  load(text: string): void {
    this.#netns.exec('nft', ['-f', '-'], text);
  }

  /** The value of the only counter of a table of the benchmark's own. */
  counted(table: string): number {
    const text = this.#netns.exec('nft', ['list', 'table', 'ip', table]);
    return Number(/counter packets (\d+)/.exec(text)?.[1]);
  }

  close(): void {
    this.#injector?.close();
    this.#netns.close();
  }

  #wire(bridged: boolean): void {
    const inside = bridged ? behindBridge('inside', '10.0.0.0/16') : link('inside', '10.0.0.0/16');
    const links = ['link set lo up', ...link('outside', '10.2.0.0/16'), ...inside];
    this.#netns.exec('ip', ['-batch', '-'], links.join('\n'));
    this.#netns.run(() => {
      for (const [name, value] of Object.entries(SYSCTLS)) writeFileSync(`/proc/sys/net/${name}`, value);
    });
  }
}

function ownNamespace(): Netns {
  try {
    return new Netns();
  } catch (error) {
    throw new NotMeasurable((error as Error).message, { cause: error });
  }
}

const SYSCTLS = {
  'ipv4/ip_forward': '1',
  'ipv6/conf/all/disable_ipv6': '1', // No router solicitations between the frames.
};

const NOBODY = '02:00:00:00:00:99';

function link(device: string, network: string): string[] {
  return [...pair(device), ...wayTo(network, device)];
}

function behindBridge(device: string, network: string): string[] {
  const bridge = ['link add bridge type bridge', 'link set bridge up'];
  return [...bridge, ...pair(device), `link set ${device} master bridge`, ...wayTo(network, 'bridge')];
}

function pair(device: string): string[] {
  return [
    `link add ${device} type veth peer name ${device}-far`,
    `link set ${device} up`,
    `link set ${device}-far up`,
  ];
}

function wayTo(network: string, device: string): string[] {
  return [
    `route add ${network} via inet 169.254.0.1 dev ${device} onlink`,
    `neigh add 169.254.0.1 lladdr ${NOBODY} dev ${device} nud permanent`,
  ];
}
