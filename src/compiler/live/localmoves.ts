/** Puts the pods of this node into the classes where they belong, as far as there is room for what their policies need. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Pieces } from '../../lib/collections/pieces.ts';
import type { PodKey } from '../../model/cluster.ts';
import { type Policy, type PolicyId, type Rule, rulesOf, withoutRules } from '../../model/policy.ts';
import { type PodSelector, podSelectorText } from '../../model/selector.ts';
import { EVERY_POD } from '../group.ts';
import type { LiveParts } from './liveparts.ts';
import type { PolicyMoves } from './placements.ts';
import type { PodIndex } from './pods/podindex.ts';

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
      const beyond = yield* groups.fillWithinQuota();
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
    const { podIndex, placements } = this.#live;
    let moved = false;
    for (const indexedPod of podIndex.local())
      if (!placed.has(indexedPod.pod.key)) moved = (yield* placements.move(indexedPod, moves)) || moved;
    return moved;
  }
}

/** A quarter of what is asked at a time: most of those that are left may have room. */
const AT_A_TIME = 1 / 4;

interface Sized {
  readonly policy: Policy;
  /** How many pods it asks for: no more than a good guess at the members that it needs. */
  readonly asks: number;
}

/**
 * The policies of a namespace that are refused where there is no room for what all of them need: the largest of those that
 * ask for pods and have changed, or of all that ask for pods where none has changed. At least one; none where no policy asks.
 */
function largestOf(
  policies: readonly Policy[],
  changed: ReadonlySet<PolicyId>,
  podIndex: PodIndex,
): Policy[] {
  const asking = sized(policies, podIndex).filter(({ asks }) => asks > 0);
  const fresh = asking.filter(({ policy }) => changed.has(policy.id));
  const inOrder = (fresh.length > 0 ? fresh : asking).sort(
    (a, b) => b.asks - a.asks || (a.policy.id < b.policy.id ? -1 : 1),
  );
  const enough = AT_A_TIME * inOrder.reduce((sum, { asks }) => sum + asks, 0);
  let chosen = 0;
  const isChosen = ({ asks }: Sized) => {
    chosen += asks;
    return chosen - asks < enough;
  };
  return inOrder.filter(isChosen).map(({ policy }) => policy);
}

function sized(policies: readonly Policy[], podIndex: PodIndex): Sized[] {
  const asked = new Map<string, number>();
  const asksOf = (selector: PodSelector) =>
    getOrMake(asked, podSelectorText(selector), () =>
      podIndex.countAsked(selector, Number.POSITIVE_INFINITY),
    );
  return policies.map(policy => {
    const selectors = rulesOf(policy).flatMap(selectorsOf);
    return { policy, asks: selectors.reduce((sum, selector) => sum + asksOf(selector), 0) };
  });
}

/** Named ports of whoever it may be are those of all pods. */
function selectorsOf({ peers, ports }: Rule): readonly PodSelector[] {
  const hasNames = ports !== 'any' && ports.some(({ kind }) => kind === 'named');
  if (peers === 'any') return hasNames ? [EVERY_POD] : [];
  return peers.flatMap(peer => {
    if (peer.kind === 'pods') return [peer.selector];
    return hasNames ? [EVERY_POD] : [];
  });
}
