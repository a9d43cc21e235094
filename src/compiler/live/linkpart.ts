/**
 * The chains and sets of what is asked of pods' packets, which hold the addresses and networks of all nodes: the same
 * objects as long as none comes, goes or changes.
 */
import type { Family } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { TablePart } from '../attachedpods.ts';
import { linkPart } from '../podlinks.ts';
import { TextByName } from './textbyname.ts';

export class LiveLinkPart {
  readonly #cluster: Cluster;
  readonly #node: string;
  readonly #texts = new TextByName();
  #parts: Readonly<Record<Family, TablePart>>;

  constructor(cluster: Cluster, node: string) {
    this.#cluster = cluster;
    this.#node = node;
    this.#parts = this.#make();
  }

  refreshNodes(names: Iterable<string>): void {
    let changed = false;
    for (const name of names) changed = this.#texts.note(name, this.#textOf(name)) || changed;
    if (changed) this.#parts = this.#make();
  }

  part(family: Family): TablePart {
    return this.#parts[family];
  }

  #textOf(name: string): string {
    const node = this.#cluster.nodes.get(name);
    if (node === undefined) return '';
    const { addresses, lastKnownNodeAddresses, lastKnownTunnelEnds, lastKnownPodNetworks, podCidrs, links } =
      node;
    const own = name === this.#node ? [links?.tunnels, links?.podTunnels] : [];
    return JSON.stringify([
      addresses,
      lastKnownNodeAddresses,
      lastKnownTunnelEnds,
      lastKnownPodNetworks,
      podCidrs,
      own,
    ]);
  }

  #make(): Readonly<Record<Family, TablePart>> {
    const part = (family: Family) => linkPart(family, this.#cluster.nodes, this.#node);
    return { ip: part('ip'), ip6: part('ip6') };
  }
}
