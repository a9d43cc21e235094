/** Keeps the node's routes to the pods of other nodes. */
import type { Node } from '../../model/cluster.ts';
import type { NodeLinks } from '../attach/nodelinks.ts';
import { routeStep } from '../attach/wiring.ts';
import { neighbours, routeChange, wantedRoutes } from './noderoutes.ts';
import { Ways } from './ways.ts';

export class NodeRouting {
  readonly #links: NodeLinks;
  readonly #node: string;
  readonly #ways: Ways;
  #unreachable: readonly string[] = [];

  constructor(links: NodeLinks, node: string) {
    this.#links = links;
    this.#node = node;
    this.#ways = new Ways(links);
  }

  /** Pod networks that no neighbour leads to, with their node. */
  get unreachable(): readonly string[] {
    return this.#unreachable;
  }

  /** Only what differs is written. */
  async follow(nodes: readonly Node[]): Promise<void> {
    const ways = await this.#ways.to(neighbours(nodes, this.#node));
    const { routes, unreachable } = wantedRoutes(nodes, this.#node, ways);
    this.#unreachable = unreachable;
    const { add, remove } = routeChange(await this.#links.routes(), routes);
    for (const route of remove) await this.#links.removeRoute(route);
    if (add.length > 0) await this.#links.change(add.map(route => routeStep(route, 'replace')));
  }
}
