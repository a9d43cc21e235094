/** Keeps the node's routes to the pods of other nodes. */

import type { Route } from '../../kernel/netlink/route/rtnetlink.ts';
import type { Node } from '../../model/cluster.ts';
import type { NodeInterfaces } from '../attach/nodeinterfaces.ts';
import { routeStep } from '../attach/wiring.ts';
import { neighbours, routeChange, wantedRoutes } from './noderoutes.ts';
import { Ways } from './ways.ts';

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
