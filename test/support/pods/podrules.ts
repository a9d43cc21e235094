/** An agent in the namespace of a node: no policy, and what attached pods need. */

import { inNamespace } from '../../../bench/lab/netns.ts';
import { Agent } from '../../../src/agent/agent.ts';
import { CommitBarrier } from '../../../src/agent/commitbarrier.ts';
import { hostPortsIn } from '../../../src/compiler/hostports.ts';
import { Incremental } from '../../../src/compiler/live/incremental.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Cluster, ClusterEvent, Node } from '../../../src/model/cluster.ts';
import type { HostPortMapping } from '../../../src/model/hostport.ts';
import { hostPortEvents } from '../../../src/model/hostportevents.ts';
import type { HostPortState } from '../../../src/network/hostports/hostports.ts';
import type { Op } from '../../../src/nft/plan/op.ts';
import type { PodSite } from './podsite.ts';

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export class PodRules implements HostPortState {
  /** The committed operations, and those that repaired a foreign change. */
  readonly committed: Op[][] = [];
  readonly drifts: Op[][] = [];
  readonly #agent: Agent;
  readonly #barrier = new CommitBarrier();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  /** Resolves when the rules are in force; existing host ports are adopted, as the daemon does it. */
  static async open(site: PodSite, node: string, nodes: Iterable<Node>): Promise<PodRules> {
    const rules = new PodRules(site, node, [
      ...Array.from(nodes, (value): ClusterEvent => ({ type: 'node', key: value.name, value })),
      ...hostPortEvents([], await hostPortsOf(site)),
    ]);
    await rules.programmed();
    return rules;
  }

  private constructor(site: PodSite, node: string, events: readonly ClusterEvent[]) {
    this.#agent = new Agent({
      open: () => inNamespace(site.node, () => openNftKernel({ podLinks: 'ours' })),
      engine: () => new Incremental(node, 'allow', 'ours'),
      log: QUIET,
      observers: [
        this.#barrier,
        {
          committed: ({ ops }) => {
            if (ops.length > 0) this.committed.push([...ops]);
          },
          drifted: repair => void this.drifts.push([...repair]),
        },
      ],
    });
    this.#agent.apply(events);
    this.#running = this.#agent.run(this.#stop.signal);
  }

  get cluster(): Cluster {
    return this.#agent.cluster;
  }

  mappings(): readonly HostPortMapping[] {
    return [...(this.cluster.hostPorts?.values() ?? [])];
  }

  change(remove: readonly HostPortMapping[], add: readonly HostPortMapping[]): void {
    this.note(hostPortEvents(remove, add));
  }

  /** All has gone. */
  publish(): void {}

  note(events: readonly ClusterEvent[]): void {
    this.#agent.apply(events, { urgent: true });
  }

  programmed(): Promise<void> {
    return this.#barrier.programmed();
  }

  /** Reads the kernel again, as the agent does from time to time. */
  resync(): void {
    this.#agent.requestResync();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

/** Those that the kernel of the node's namespace holds. */
export async function hostPortsOf(site: PodSite): Promise<HostPortMapping[]> {
  const kernel = await inNamespace(site.node, () => openNftKernel());
  try {
    return hostPortsIn((await kernel.dump()).ruleset);
  } finally {
    kernel.close();
  }
}
