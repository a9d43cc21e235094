/** The networks and addresses that the node has for its pods, read again when its Node changes or after a while. */
import { type Address, parseAddress } from '../../model/address.ts';
import type { Cluster, Node } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { asNetworkError, NetworkError } from '../error.ts';
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

  /**
   * The reason why no address is free for another pod; undefined if one is. `claimed` are not free, even if the kernel
   * does not have them.
   */
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

/** Addresses of the documentation networks: they are everywhere and nowhere, so the way to them is the way out. */
const OUTSIDE = ['192.0.2.1', '2001:db8::1'].map(text => parseAddress(text)!);
const DEFAULT_MTU = 1500;

/** Throws NetworkError while the node has no pod CIDR. */
async function nodePlan(links: NodeInterfaces, name: string, node: Node | undefined): Promise<NodePlan> {
  const podCidrs = podCidrsOf(node);
  if (podCidrs.length === 0)
    throw new NetworkError(
      'unavailable',
      node === undefined
        ? `there is no Node ${name} yet`
        : `Node ${name} has no spec.podCIDRs: let the controller manager allocate them (--allocate-node-cidrs)`,
    );
  const own = await links.ownAddresses();
  const ours = new Set(own.map(({ address }) => address));
  const sources = (node?.addresses ?? []).filter(address => ours.has(address));
  return { podCidrs, sources, mtu: await uplinkMtu(links, sources) };
}

/** The smallest of the interfaces that lead out: of both families a pod has but one interface. */
async function uplinkMtu(links: NodeInterfaces, sources: readonly Address[]): Promise<number> {
  const routes = await Promise.all(OUTSIDE.map(address => links.routeTo(address)));
  const own = await links.ownAddresses();
  const indexes = new Set([
    ...routes.map(route => route?.device),
    ...own.filter(({ address }) => sources.includes(address)).map(({ device }) => device),
  ]);
  const mtus = (await links.links()).filter(({ index }) => indexes.has(index)).map(({ mtu }) => mtu);
  return mtus.length === 0 ? DEFAULT_MTU : Math.min(...mtus);
}
