/**
 * The path from an event to the kernel as the agent takes it, without the budget of commits and the log, in a network
 * namespace that no other process uses.
 */

import { Incremental } from '../src/compiler/live/incremental.ts';
import { openNftKernel } from '../src/kernel/netlink/nftables/nft-kernel.ts';
import type { ClusterEvent } from '../src/model/cluster.ts';
import type { Generation, Kernel } from '../src/nft/kernel.ts';
import { applied, plan } from '../src/nft/plan/plan.ts';
import type { Ruleset } from '../src/nft/ruleset.ts';
import { NODE } from './cluster.ts';
import { Netns } from './lab/unnamed.ts';

export class Follower {
  readonly #netns: Netns;
  readonly #kernel: Kernel;
  readonly #engine = new Incremental(NODE);
  #actual: Ruleset = { tables: new Map() };
  /** The desired state of the last commit, which is the actual state. */
  #desired: Ruleset | undefined;
  #generation: Generation | undefined;

  static async start(): Promise<Follower> {
    const netns = new Netns();
    return new Follower(netns, await netns.run(() => openNftKernel({ quietMs: 0 })));
  }

  private constructor(netns: Netns, kernel: Kernel) {
    this.#netns = netns;
    this.#kernel = kernel;
  }

  /** Milliseconds until all that the events change is in force. */
  async follow(...events: readonly ClusterEvent[]): Promise<number> {
    const startMs = performance.now();
    for (const event of events) this.#engine.apply(event);
    const desired = this.#engine.flush();
    const expected = this.#generation ?? (await this.#kernel.generation());
    if ((await this.#kernel.generation()) !== expected) throw new Error('another process changes the rules');
    const ops = plan(this.#actual, desired, this.#desired);
    this.#generation = await this.#kernel.commit(ops, expected);
    this.#actual = applied(this.#actual, desired, this.#desired);
    this.#desired = desired;
    return performance.now() - startMs;
  }

  close(): void {
    this.#kernel.close();
    this.#netns.close();
  }
}
