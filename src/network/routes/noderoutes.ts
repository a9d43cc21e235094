/**
 * Routes to the pods of other nodes that share a link with this one. There is no overlay: networks behind a router are
 * that router's task. The wanted routes are computed apart from writing them.
 */

import type { Route } from '../../kernel/netlink/route/rtnetlink.ts';
import { type Address, addressBits, type Cidr, cidrText, familyOf } from '../../model/address.ts';
import type { Node } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { isDeviceName } from '../attach/attachment.ts';
import type { NodeInterfaces } from '../attach/nodeinterfaces.ts';
import { PROTOCOL, routeStep } from '../attach/wiring.ts';

/** The lowest priority: a route of an administrator or of another program always takes precedence over ours. */
const LAST_RESORT = 0xffff;

export interface DesiredRoutes {
  readonly routes: readonly Route[];
  /** Pod networks to which no neighbour leads, with their node. */
  readonly unreachable: readonly string[];
}

/**
 * `routesToNodes` are the kernel's routes to addresses of nodes; undefined where there is none. A network that several nodes claim
 * is this node's where it is one of them, else that of the first by name: there is one route for it, and it stays.
 */
export function wantedRoutes(
  nodes: readonly Node[],
  own: string,
  routesToNodes: ReadonlyMap<Address, Route | undefined>,
): DesiredRoutes {
  const routes: Route[] = [];
  const unreachable: string[] = [];
  const routed = new Set<string>();
  for (const node of inOrder(nodes, own)) {
    for (const cidr of podCidrsOf(node)) {
      const network = cidrText(cidr);
      const route = node.name === own ? nowhere(cidr) : routeVia(cidr, node, routesToNodes);
      if (routed.has(network)) unreachable.push(`${network} of node ${node.name} (another node has it too)`);
      else if (route === undefined) unreachable.push(`${network} of node ${node.name}`);
      else {
        routes.push(route);
        routed.add(network);
      }
    }
  }
  return { routes, unreachable };
}

function inOrder(nodes: readonly Node[], own: string): Node[] {
  const others = nodes.filter(({ name }) => name !== own);
  return [
    ...nodes.filter(({ name }) => name === own),
    ...others.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
  ];
}

/** Addresses of other nodes, to which the kernel's route is asked. */
export function neighbours(nodes: readonly Node[], own: string): Address[] {
  return nodes.filter(({ name }) => name !== own).flatMap(({ addresses }) => addresses);
}

export interface RouteChange {
  readonly add: readonly Route[];
  readonly remove: readonly Route[];
}

/** Routes to single addresses are those to our own pods, and are ignored here. */
export function routeChange(actual: readonly Route[], wanted: readonly Route[]): RouteChange {
  const networks = actual.filter(({ destination: { family, prefix } }) => prefix < addressBits(family));
  const [stand, want] = [new Set(networks.map(text)), new Set(wanted.map(text))];
  return {
    add: wanted.filter(route => !stand.has(text(route))),
    remove: networks.filter(route => !want.has(text(route))),
  };
}

/**
 * Drops packets to addresses of our own pod network that no pod has: the default route would send them out, and they
 * would come back.
 */
function nowhere(destination: Cidr): Route {
  return { destination, type: 'unreachable', protocol: PROTOCOL, metric: LAST_RESORT };
}

function routeVia(
  destination: Cidr,
  { addresses }: Node,
  routesToNodes: ReadonlyMap<Address, Route | undefined>,
): Route | undefined {
  for (const gateway of addresses.filter(address => familyOf(address) === destination.family)) {
    const route = routesToNodes.get(gateway);
    if (route?.device === undefined || route.gateway !== undefined) continue; // behind a router, or without a route
    return { destination, device: route.device, gateway, protocol: PROTOCOL, metric: LAST_RESORT };
  }
  return undefined;
}

function text({ destination, device, gateway, type, metric }: Route): string {
  return [cidrText(destination), device, gateway, type ?? 'unicast', metric].join(' ');
}

/** Keeps the node's routes to the pods of other nodes. */
export class NodeRouting {
  readonly #links: NodeInterfaces;
  readonly #node: string;
  readonly #toNodes: RoutesToNodes;
  #unreachable: readonly string[] = [];
  /** The nodes and routes for which nothing was left to do. */
  #done: { readonly nodes: readonly Node[]; readonly routes: readonly Route[] } | undefined;

  constructor(links: NodeInterfaces, node: string) {
    this.#links = links;
    this.#node = node;
    this.#toNodes = new RoutesToNodes(links);
  }

  /** Pod networks to which no neighbour leads, with their node. */
  get unreachable(): readonly string[] {
    return this.#unreachable;
  }

  /** Writes only differences; if neither a node nor the kernel has changed, nothing is compared. */
  async follow(nodes: readonly Node[]): Promise<void> {
    const actual = await this.#links.routes();
    if (this.#done?.routes === actual && isSameList(this.#done.nodes, nodes)) return;
    this.#done = undefined;
    const toNodes = await this.#toNodes.to(neighbours(nodes, this.#node));
    const { routes, unreachable } = wantedRoutes(nodes, this.#node, toNodes);
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
 * The kernel's routes to other nodes. With thousands of nodes, asking for all of them would be most of the work of an
 * idle agent, so they are cached until a link or an address of the node changes, and for some minutes at most.
 */
type RouteLookup = Pick<NodeInterfaces, 'links' | 'ownAddresses' | 'routeTo'>;

const KEPT_MS = 300_000;

export class RoutesToNodes {
  readonly #links: RouteLookup;
  readonly #now: () => number;
  #routes = new Map<Address, Route | undefined>();
  #around = '';
  #untilMs = 0;

  constructor(links: RouteLookup, now: () => number = () => performance.now()) {
    this.#links = links;
    this.#now = now;
  }

  /** Undefined where there is none. */
  async to(addresses: readonly Address[]): Promise<ReadonlyMap<Address, Route | undefined>> {
    const around = await this.#surroundings();
    if (around !== this.#around || this.#now() >= this.#untilMs) {
      this.#routes.clear();
      this.#around = around;
      this.#untilMs = this.#now() + KEPT_MS;
    }
    const kept = this.#routes;
    const routes = new Map<Address, Route | undefined>();
    for (const address of addresses)
      routes.set(address, kept.has(address) ? kept.get(address) : await this.#links.routeTo(address));
    this.#routes = routes;
    return routes;
  }

  /** The node's links other than those of its pods, and their addresses, as text. */
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
