/** The base chains as the node's networks change: they stay the same objects as long as they deny in the same ones. */
import type { Cidr, Family } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import type { Chain } from '../../nft/ruleset.ts';
import { basesOf } from '../base.ts';
import type { DenialLimits } from '../denied.ts';
import type { AnswersOfBase } from '../namespeers.ts';
import { type NodeNetwork, nodeNetworkOf } from '../podlinks.ts';
import { deniedNetworks } from '../unknownpods.ts';

export interface BasesOptions {
  readonly node: string;
  readonly unknownPods: UnknownPods;
  readonly podLinks: PodLinks;
  /** The rates at which denied packets are reported; undefined where they are not reported. */
  readonly limits?: DenialLimits | undefined;
}

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

  /** Where nobody but known pods is let in. */
  get denied(): readonly Cidr[] {
    return this.#denied;
  }

  get network(): NodeNetwork {
    return this.#network;
  }

  chains(family: Family): readonly Chain[] {
    return this.#chains[family];
  }

  /** The node has changed; answers whether its chains have. */
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
