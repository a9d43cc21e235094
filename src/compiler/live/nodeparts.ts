/**
 * The chains and sets that every node has, whatever its policies are, updated event by event. They stay the same
 * objects until they change.
 */
import { type Cidr, FAMILIES, type Family, familyOf } from '../../model/address.ts';
import type { Cluster, Node, PodKey } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import { LiveSet } from '../../nft/plan/history.ts';
import type { Chain, NftSet } from '../../nft/ruleset.ts';
import { attachChains, leavingPart, type TablePart } from '../attachedpods.ts';
import { basesOf } from '../base.ts';
import { remotePodInNetworks } from '../compile.ts';
import type { DenialLimits } from '../denied.ts';
import { hostPortSets } from '../hostports.ts';
import type { AnswersOfBase } from '../namespeers.ts';
import { linkPart, type NodeNetwork, nodeNetworkOf } from '../podlinks.ts';
import { ADDRESS_SETS, addressSetSpec } from '../tunnels.ts';
import { deniedNetworks } from '../unknownpods.ts';
import type { LiveTables } from './livetables.ts';
import type { IndexedPod, PodIndex } from './pods/podindex.ts';
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
  readonly #addresses = new NodeAddressSets();
  #parts: ByFamily<TablePart>;

  constructor(cluster: Cluster, node: string) {
    this.#cluster = cluster;
    this.#node = node;
    this.#parts = this.#make();
  }

  refreshNodes(names: Iterable<string>): void {
    let changed = false;
    for (const name of names) {
      if (!this.#texts.note(name, this.#textOf(name))) continue;
      changed = true;
      this.#addresses.put(name, this.#cluster.nodes.get(name));
    }
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

  #make(): ByFamily<TablePart> {
    return byFamily(family => linkPart(family, this.#cluster.nodes, this.#node, this.#addresses.now(family)));
  }
}

type ByFamily<T> = Readonly<Record<Family, T>>;

/** The sets of addresses of nodes. A node that comes costs the addresses that it has, not those of all. */
class NodeAddressSets {
  readonly #sets = new Map(
    Object.keys(ADDRESS_SETS).map(name => [
      name,
      byFamily(family => new LiveSet(addressSetSpec(name, family))),
    ]),
  );
  readonly #nodes = new Map<string, Node>();

  put(name: string, node: Node | undefined): void {
    const before = this.#nodes.get(name);
    for (const [set, addressesOf] of Object.entries(ADDRESS_SETS)) {
      const sets = this.#sets.get(set)!;
      for (const address of node === undefined ? [] : addressesOf(node)) sets[familyOf(address)].add(address);
      for (const address of before === undefined ? [] : addressesOf(before))
        sets[familyOf(address)].delete(address);
    }
    if (node === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, node);
  }

  now(family: Family): NftSet[] {
    return [...this.#sets.values()].map(sets => sets[family].now());
  }
}

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

/** Pods of other nodes with addresses in this node's pod networks, where unknown pods are denied (N67). */
export class LiveRemotePods {
  readonly #podIndex: PodIndex;
  readonly #node: string;
  readonly #remotePods = new Map<PodKey, IndexedPod>();

  constructor(podIndex: PodIndex, node: string) {
    this.#podIndex = podIndex;
    this.#node = node;
  }

  all(): Iterable<IndexedPod> {
    return this.#remotePods.values();
  }

  /**
   * Applies changes of these pods. Returns whether one of them has an address in the networks in which unknown pods are
   * denied, or had one.
   */
  refresh(keys: Iterable<PodKey>, denied: readonly Cidr[]): boolean {
    let changed = false;
    for (const key of keys) {
      const remotePod = remotePodInNetworks(this.#podIndex.indexedPod(key), this.#node, denied);
      changed ||= remotePod !== undefined || this.#remotePods.has(key);
      if (remotePod === undefined) this.#remotePods.delete(key);
      else this.#remotePods.set(key, remotePod);
    }
    return changed;
  }
}

function byFamily<T>(make: (family: Family) => T): ByFamily<T> {
  return Object.fromEntries(FAMILIES.map(family => [family, make(family)])) as unknown as ByFamily<T>;
}
