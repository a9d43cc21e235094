/** Keeps the node's routes to the pods of other nodes. */

import type { Route } from '../../kernel/netlink/route/rtnetlink.ts';
import type { Address } from '../../model/address.ts';
import type { Node } from '../../model/cluster.ts';
import { isDeviceName } from '../attach/attachment.ts';
import type { NodeInterfaces } from '../attach/nodeinterfaces.ts';
import { routeStep } from '../attach/wiring.ts';
import { neighbours, routeChange, wantedRoutes } from './noderoutes.ts';

export class NodeRouting {
  readonly #links: NodeInterfaces;
  readonly #node: string;
  readonly #ways: Ways;
  #unreachable: readonly string[] = [];
  /** What there was when nothing was left to do. */
  #done: { readonly nodes: readonly Node[]; readonly routes: readonly Route[] } | undefined;

  constructor(links: NodeInterfaces, node: string) {
    this.#links = links;
    this.#node = node;
    this.#ways = new Ways(links);
  }

  /** Pod networks that no neighbour leads to, with their node. */
  get unreachable(): readonly string[] {
    return this.#unreachable;
  }

  /** Only what differs is written; where neither a node nor the kernel has changed, nothing is compared. */
  async follow(nodes: readonly Node[]): Promise<void> {
    const actual = await this.#links.routes();
    if (this.#done?.routes === actual && isSameList(this.#done.nodes, nodes)) return;
    this.#done = undefined;
    const ways = await this.#ways.to(neighbours(nodes, this.#node));
    const { routes, unreachable } = wantedRoutes(nodes, this.#node, ways);
    this.#unreachable = unreachable;
    const { add, remove } = routeChange(actual, routes);
    for (const route of remove) await this.#links.removeRoute(route);
    if (add.length > 0) await this.#links.change(add.map(route => routeStep(route, 'replace')));
    if (remove.length + add.length === 0) this.#done = { nodes, routes: actual };
  }
}

function isSameList(some: readonly Node[], others: readonly Node[]): boolean {
  return some.length === others.length && some.every((node, index) => node === others[index]);
}

/**
 * The kernel's ways to other nodes. At thousands of nodes to ask for all of them is most of what an idle agent would
 * do, so they are kept: until a link or an address of the node changes, and for some minutes at most.
 */
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
