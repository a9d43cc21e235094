/**
 * Routes to the pods of other nodes, where a node is on a link of ours. Pure: what is known comes in, what is to be
 * changed comes out. There is no overlay: what is behind a router is that router's to know.
 */

import type { Route } from '../../kernel/netlink/route/rtnetlink.ts';
import { type Address, addressBits, type Cidr, cidrText, familyOf } from '../../model/address.ts';
import type { Node } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { PROTOCOL } from '../attach/wiring.ts';

/** Behind every route that somebody made by hand or another program: ours are for want of a better one. */
const LAST_RESORT = 0xffff;

export interface DesiredRoutes {
  readonly routes: readonly Route[];
  /** Pod networks that no neighbour leads to, with their node. */
  readonly unreachable: readonly string[];
}

/**
 * `wayTo` is the kernel's way to a node's address; undefined where there is none. A network that several nodes claim
 * is this node's where it is one of them, else that of the first by name: there is one route for it, and it stays.
 */
export function wantedRoutes(
  nodes: readonly Node[],
  own: string,
  wayTo: ReadonlyMap<Address, Route | undefined>,
): DesiredRoutes {
  const routes: Route[] = [];
  const unreachable: string[] = [];
  const routed = new Set<string>();
  for (const node of inOrder(nodes, own)) {
    for (const cidr of podCidrsOf(node)) {
      const network = cidrText(cidr);
      const route = node.name === own ? nowhere(cidr) : routeTo(cidr, node, wayTo);
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

/** Addresses of other nodes, to ask the way to. */
export function neighbours(nodes: readonly Node[], own: string): Address[] {
  return nodes.filter(({ name }) => name !== own).flatMap(({ addresses }) => addresses);
}

export interface RouteChange {
  readonly add: readonly Route[];
  readonly remove: readonly Route[];
}

/** Routes to single addresses are those to our pods: they are not looked at here. */
export function routeChange(actual: readonly Route[], wanted: readonly Route[]): RouteChange {
  const networks = actual.filter(({ destination: { family, prefix } }) => prefix < addressBits(family));
  const [stand, want] = [new Set(networks.map(text)), new Set(wanted.map(text))];
  return {
    add: wanted.filter(route => !stand.has(text(route))),
    remove: networks.filter(route => !want.has(text(route))),
  };
}

/** What is in our own network and of no pod is nowhere: it shall not leave by the default route, and come back. */
function nowhere(destination: Cidr): Route {
  return { destination, type: 'unreachable', protocol: PROTOCOL, metric: LAST_RESORT };
}

function routeTo(
  destination: Cidr,
  { addresses }: Node,
  wayTo: ReadonlyMap<Address, Route | undefined>,
): Route | undefined {
  for (const gateway of addresses.filter(address => familyOf(address) === destination.family)) {
    const way = wayTo.get(gateway);
    if (way?.device === undefined || way.gateway !== undefined) continue; // behind a router, or nowhere
    return { destination, device: way.device, gateway, protocol: PROTOCOL, metric: LAST_RESORT };
  }
  return undefined;
}

function text({ destination, device, gateway, type, metric }: Route): string {
  return [cidrText(destination), device, gateway, type ?? 'unicast', metric].join(' ');
}
