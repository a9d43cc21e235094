/**
 * The sets of what is asked of pods' packets, which hold the addresses of all nodes: the same objects as long as none
 * comes or goes.
 */
import type { Family } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { NftSet } from '../../nft/ruleset.ts';
import { linkSets } from '../podlinks.ts';
import { TextByName } from './textbyname.ts';

export class LiveLinkSets {
  readonly #cluster: Cluster;
  readonly #addresses = new TextByName();
  #sets: Record<Family, readonly NftSet[]> = { ip: linkSets('ip', []), ip6: linkSets('ip6', []) };

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  refreshNodes(names: Iterable<string>): void {
    let changed = false;
    for (const name of names) changed = this.#noteAddresses(name) || changed;
    if (!changed) return;
    const nodes = [...this.#cluster.nodes.values()];
    this.#sets = { ip: linkSets('ip', nodes), ip6: linkSets('ip6', nodes) };
  }

  sets(family: Family): readonly NftSet[] {
    return this.#sets[family];
  }

  #noteAddresses(name: string): boolean {
    const { addresses = [], nodesBefore = [] } = this.#cluster.nodes.get(name) ?? {};
    return this.#addresses.note(name, [...addresses, ...nodesBefore].join());
  }
}
