/** What attached pods need, followed event by event: what did not change stays the same object. */
import { FAMILIES, type Family } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Chain, NftSet } from '../../nft/ruleset.ts';
import { attachChains, leavingPart, type TablePart } from '../attachedpods.ts';
import { hostPortSets } from '../hostports.ts';
import type { LiveTables } from './livetables.ts';
import { TextByName } from './textbyname.ts';

type ByFamily<T> = Readonly<Record<Family, T>>;

export class LiveAttachedPods {
  readonly #cluster: Cluster;
  readonly #node: string;
  readonly #networks = new TextByName();
  readonly #fixed: ByFamily<readonly Chain[]> = byFamily(attachChains);
  #leaving: ByFamily<TablePart>;
  #ports: ByFamily<readonly NftSet[]>;

  constructor(cluster: Cluster, node: string) {
    this.#cluster = cluster;
    this.#node = node;
    this.#leaving = this.#makeLeaving();
    this.#ports = this.#makePorts();
  }

  /** A node that says what it said before, as nodes do all day, costs a look at its networks. */
  refreshNodes(names: Iterable<string>): void {
    let changed = false;
    for (const name of names) changed = this.#noteNetworks(name) || changed;
    if (changed) this.#leaving = this.#makeLeaving();
  }

  refreshHostPorts(): void {
    this.#ports = this.#makePorts();
  }

  /** Puts the chains and sets that have changed into the tables. */
  flushInto(tables: LiveTables): void {
    for (const family of FAMILIES) {
      tables.setPart(family, 'links', { chains: this.#fixed[family], sets: this.#ports[family] });
      tables.setPart(family, 'leaving', this.#leaving[family]);
    }
  }

  #noteNetworks(name: string): boolean {
    return this.#networks.note(name, this.#cluster.nodes.get(name)?.podCidrs.join() ?? '');
  }

  #makeLeaving(): ByFamily<TablePart> {
    return byFamily(family => leavingPart(family, this.#cluster, this.#node));
  }

  #makePorts(): ByFamily<readonly NftSet[]> {
    return byFamily(family => hostPortSets(family, this.#cluster.hostPorts?.values() ?? []));
  }
}

function byFamily<T>(make: (family: Family) => T): ByFamily<T> {
  return Object.fromEntries(FAMILIES.map(family => [family, make(family)])) as unknown as ByFamily<T>;
}
