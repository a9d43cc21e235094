/**
 * The kernel's ways to other nodes. At thousands of nodes to ask for all of them is most of what an idle agent would
 * do, so they are kept: until a link or an address of the node changes, and for some minutes at most.
 */

import type { Route } from '../../kernel/netlink/route/rtnetlink.ts';
import type { Address } from '../../model/address.ts';
import { isDeviceName } from '../attach/attachment.ts';
import type { NodeInterfaces } from '../attach/nodeinterfaces.ts';

type WayTo = Pick<NodeInterfaces, 'links' | 'ownAddresses' | 'wayTo'>;

const KEPT_MS = 300_000;

export class Ways {
  readonly #links: WayTo;
  readonly #now: () => number;
  #ways = new Map<Address, Route | undefined>();
  #around = '';
  #untilMs = 0;

  constructor(links: WayTo, now: () => number = () => performance.now()) {
    this.#links = links;
    this.#now = now;
  }

  /** Undefined where there is none. */
  async to(addresses: readonly Address[]): Promise<ReadonlyMap<Address, Route | undefined>> {
    const around = await this.#surroundings();
    if (around !== this.#around || this.#now() >= this.#untilMs) {
      this.#ways.clear();
      this.#around = around;
      this.#untilMs = this.#now() + KEPT_MS;
    }
    const kept = this.#ways;
    const ways = new Map<Address, Route | undefined>();
    for (const address of addresses)
      ways.set(address, kept.has(address) ? kept.get(address) : await this.#links.wayTo(address));
    this.#ways = ways;
    return ways;
  }

  /** The node's links beside those of its pods, and what they are called. */
  async #surroundings(): Promise<string> {
    const links = (await this.#links.links()).filter(({ name }) => !isDeviceName(name));
    const indexes = new Set(links.map(({ index }) => index));
    const addresses = (await this.#links.ownAddresses()).filter(({ device }) => indexes.has(device));
    return [
      ...links.map(({ index, running }) => `${index} ${running}`),
      ...addresses.map(({ device, address }) => `${device} ${address}`),
    ].join();
  }
}
