/**
 * The chains and sets that every node has, whatever its policies are, updated event by event. They stay the same
 * objects until they change.
 */
import { type Cidr, FAMILIES, type Family } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import type { Chain, NftSet } from '../../nft/ruleset.ts';
import { attachChains, leavingPart, type TablePart } from '../attachedpods.ts';
import { basesOf } from '../base.ts';
import type { DenialLimits } from '../denied.ts';
import { hostPortSets } from '../hostports.ts';
import type { AnswersOfBase } from '../namespeers.ts';
import { linkPart, type NodeNetwork, nodeNetworkOf } from '../podlinks.ts';
import { deniedNetworks } from '../unknownpods.ts';
import type { LiveTables } from './livetables.ts';
import { TextByName } from './textbyname.ts';

export interface BasesOptions {
  readonly node: string;
  readonly unknownPods: UnknownPods;
  readonly podLinks: PodLinks;
  /** The rates at which denied packets are reported; undefined where they are not reported. */
  readonly limits?: DenialLimits | undefined;
}

/** The base chains: the same objects as long as the networks in which they deny unknown pods stay the same. */
export class LiveBases {
  readonly #cluster: Cluster;
  readonly #options: BasesOptions;
  #denied: readonly Cidr[] = [];
  #network: NodeNetwork;
  #chains: Record<Family, readonly Chain[]>;

  constructor(cluster: Cluster, options: BasesOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#network = nodeNetworkOf(undefined, options.podLinks);
    this.#chains = basesOf([], this.#network, { limits: options.limits });
  }

  /** The networks in which unknown pods are denied. */
  get denied(): readonly Cidr[] {
    return this.#denied;
  }

  get network(): NodeNetwork {
    return this.#network;
  }

  chains(family: Family): readonly Chain[] {
    return this.#chains[family];
  }

  /** Updates the chains after the node has changed. Returns whether they differ. */
  renew(answers: AnswersOfBase | undefined): boolean {
    const { node, unknownPods, podLinks } = this.#options;
    const denied = deniedNetworks(this.#cluster, node, unknownPods);
    const network = nodeNetworkOf(this.#cluster.nodes.get(node), podLinks);
    if (JSON.stringify([denied, network]) === JSON.stringify([this.#denied, this.#network])) return false;
    this.#denied = denied;
    this.#network = network;
    this.make(answers);
    return true;
  }

  make(answers: AnswersOfBase | undefined): void {
    this.#chains = basesOf(this.#denied, this.#network, { answers, limits: this.#options.limits });
  }
}

/**
 * The chains and sets that check packets of pods before policy. They contain the addresses and networks of all nodes,
 * and stay the same objects as long as no node comes, goes or changes.
 */
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

type ByFamily<T> = Readonly<Record<Family, T>>;

/** The chains and sets that pods need which this agent attaches. */
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

  /** Nodes are updated all the time without a change. Such an update costs a comparison of their networks. */
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
