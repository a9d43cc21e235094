/** Puts the pods of this node into the classes where they belong, as far as there is room for what their policies need. */

import type { Pieces } from '../../lib/collections/pieces.ts';
import type { PodKey } from '../../model/cluster.ts';
import { type Policy, type PolicyId, withoutRules } from '../../model/policy.ts';
import { largestOf } from './largest.ts';
import type { LiveParts } from './liveparts.ts';
import type { PolicyMoves } from './policymoves.ts';

export interface Moved {
  /** Some pod was put somewhere. */
  readonly moved: boolean;
  /** Policies that have come to have no rules for want of room, each as it was. */
  readonly refused: readonly Policy[];
}

export class LocalMoves {
  readonly #live: LiveParts;
  /** Local pods as of the last flush: where unknown ones are denied, the maps know them all. */
  readonly #local = new Set<PodKey>();
  /** Since somebody asked. */
  #refused: Policy[] = [];

  constructor(live: LiveParts) {
    this.#live = live;
  }

  /** Of all these pods anything may have changed, and these policies have. */
  *placeAll(pods: ReadonlySet<PodKey>, moves: PolicyMoves): Pieces<Moved> {
    const local = new Set([...pods].filter(key => this.#isLocal(key) || this.#local.has(key)));
    for (const key of local) yield* this.#place(key);
    const moved = moves.ids.size > 0 && (yield* this.#move(moves, local));
    yield* this.#live.classes.settle();
    const refused = yield* this.#makeRoom(moves.ids);
    this.#refused.push(...refused);
    return { moved: moved || local.size > 0 || refused.length > 0, refused };
  }

  /** All that were refused since it was asked last. */
  takeRefused(): readonly Policy[] {
    const refused = this.#refused;
    this.#refused = [];
    return refused;
  }

  /**
   * Where the policies of a namespace need more members than there is room for, some of them isolate what they select and
   * allow nothing: those that have just changed, else the largest. Answers them.
   */
  *#makeRoom(changed: ReadonlySet<PolicyId>): Pieces<Policy[]> {
    const { state, groups, classes, placements } = this.#live;
    const all: Policy[] = [];
    for (;;) {
      const beyond = yield* groups.fillHollow();
      if (beyond.length === 0) return all;
      const refused = beyond.flatMap(namespace => this.#tooLarge(namespace, changed));
      if (refused.length === 0) throw new Error(`no policy of ${beyond} needs what it has no room for`);
      for (const policy of refused)
        state.apply({ type: 'policy', key: policy.id, value: withoutRules(policy, 'no room') });
      yield* this.#move(placements.changePolicies(refused.map(({ id }) => id)), new Set());
      yield* classes.settle();
      all.push(...refused);
    }
  }

  #tooLarge(namespace: string, changed: ReadonlySet<PolicyId>): Policy[] {
    const { state, classes, podIndex } = this.#live;
    const policies = [...classes.tenantPolicies(namespace)].flatMap(id => state.policies.get(id) ?? []);
    return largestOf(policies, changed, podIndex);
  }

  #isLocal(key: PodKey): boolean {
    const { podIndex, node } = this.#live;
    return podIndex.indexedPod(key)?.pod.node === node;
  }

  *#place(key: PodKey): Pieces<void> {
    const isLocal = this.#isLocal(key);
    if (isLocal) this.#local.add(key);
    else this.#local.delete(key);
    const { placements, podIndex } = this.#live;
    yield* placements.place(key, isLocal ? podIndex.indexedPod(key) : undefined);
  }

  /** Moves the local pods to which something happens by changes of policies alone; answers whether there are any. */
  *#move(moves: PolicyMoves, placed: ReadonlySet<PodKey>): Pieces<boolean> {
    const { podIndex, placements, node } = this.#live;
    let moved = false;
    for (const indexedPod of podIndex.onNode(node))
      if (!placed.has(indexedPod.pod.key)) moved = (yield* placements.move(indexedPod, moves)) || moved;
    return moved;
  }
}
