/** What the node gives to its pods: its networks and addresses, read again when its Node changes or after a while. */
import type { Address } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import { asNetworkError, NetworkError } from '../error.ts';
import { nodePlan } from '../routes/nodeplan.ts';
import type { NodePlan } from './attacher.ts';
import { exhaustedFamilies, exhaustedText } from './ipam.ts';
import type { NodeInterfaces } from './nodeinterfaces.ts';

export interface CachedPlanOptions {
  readonly node: string;
  readonly links: NodeInterfaces;
  readonly cluster: () => Cluster;
  readonly now: () => number;
}

const PLAN_MS = 5_000;

export class CachedPlan {
  readonly #options: CachedPlanOptions;
  #known: { readonly untilMs: number; readonly node: unknown; readonly value: Promise<NodePlan> } | undefined;

  constructor(options: CachedPlanOptions) {
    this.#options = options;
  }

  /** Throws NetworkError while the node has nothing to give. */
  now(): Promise<NodePlan> {
    const { cluster, node: name, links, now } = this.#options;
    const node = cluster().nodes.get(name);
    const nowMs = now();
    if (this.#known === undefined || this.#known.node !== node || this.#known.untilMs < nowMs) {
      const value = nodePlan(links, name, node);
      value.catch(() => {
        this.#known = undefined;
      });
      this.#known = { untilMs: nowMs + PLAN_MS, node, value };
    }
    return this.#known.value;
  }

  /** Why no address is free for a further pod; undefined while one is. `claimed` are not free, whatever the kernel holds. */
  async exhausted(claimed: readonly Address[]): Promise<NetworkError | undefined> {
    try {
      const { podCidrs } = await this.now();
      const taken = new Set([...(await this.#options.links.taken()), ...claimed]);
      const families = exhaustedFamilies(podCidrs, taken);
      if (families.length === 0) return undefined;
      const full = podCidrs.filter(({ family }) => families.includes(family));
      return new NetworkError('exhausted', exhaustedText(full));
    } catch (error) {
      return asNetworkError(error as Error);
    }
  }
}
