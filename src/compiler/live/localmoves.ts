/** Puts the pods of this node into their classes, and refuses policies for which the set quota has no room. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Pieces } from '../../lib/collections/pieces.ts';
import type { PodKey } from '../../model/cluster.ts';
import {
  type Peer,
  type Policy,
  type PolicyId,
  type Rule,
  rulesOf,
  withoutRules,
} from '../../model/policy.ts';
import { type PodSelector, podSelectorText } from '../../model/selector.ts';
import { EVERY_POD } from '../group.ts';
import type { LiveParts } from './liveparts.ts';
import type { PolicyMoves } from './placements.ts';
import type { PodIndex } from './pods/podindex.ts';

export interface PlacementResult {
  /** Whether a pod has joined or left a class. */
  readonly moved: boolean;
  /** Policies that have lost their rules because the quota has no room, each as it was. */
  readonly refused: readonly Policy[];
}

export class LocalMoves {
  readonly #live: LiveParts;
  /** The local pods of the last flush; the pod maps need all of them where unknown pods are denied. */
  readonly #local = new Set<PodKey>();
  /** Policies refused since the last call of `takeRefused`. */
  #refused: Policy[] = [];

  constructor(live: LiveParts) {
    this.#live = live;
  }

  /**
   * Places these pods, of which anything may have changed, and moves all others that are affected by the changed
   * policies.
   */
  *placeAll(pods: ReadonlySet<PodKey>, moves: PolicyMoves): Pieces<PlacementResult> {
    const local = new Set<PodKey>();
    for (const key of pods) if (this.#isLocal(key) || this.#local.has(key)) local.add(key);
    for (const key of local) yield* this.#place(key);
    const moved = (moves.ids.size > 0 && (yield* this.#move(moves, local))) || local.size > 0;
    if (moved) yield* this.#live.classes.settle();
    const refused = yield* this.#makeRoom(moves.ids);
    this.#refused.push(...refused);
    return { moved: moved || refused.length > 0, refused };
  }

  /** The policies refused since the last call. */
  takeRefused(): readonly Policy[] {
    const refused = this.#refused;
    this.#refused = [];
    return refused;
  }

  /**
   * Where the policies of a namespace need more members than the quota has room for, refuses some of them: they isolate
   * what they select and allow nothing. Those that have just changed are refused first, else the largest. Returns them.
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

  /** Moves the local pods that are affected by changes of policies alone. Returns whether there are any. */
  *#move(moves: PolicyMoves, placed: ReadonlySet<PodKey>): Pieces<boolean> {
    const { podIndex, placements } = this.#live;
    let moved = false;
    for (const indexedPod of podIndex.local())
      if (!placed.has(indexedPod.pod.key)) moved = (yield* placements.move(indexedPod, moves)) || moved;
    return moved;
  }
}

/** Refuses a quarter of the excess at a time: most of the policies that are left may then have room. */
const AT_A_TIME = 1 / 4;

interface Sized {
  readonly policy: Policy;
  /** How many pods its selectors look at, and nodes its networks: an estimate of how many members it needs. */
  readonly lookedAt: number;
}

/**
 * The policies of a namespace to refuse where the quota has no room for all: the largest of those that have changed, or
 * the largest of all if none has changed. Only policies that need members count. Empty if there are none.
 */
function largestOf(
  policies: readonly Policy[],
  changed: ReadonlySet<PolicyId>,
  podIndex: PodIndex,
): Policy[] {
  const asking = sized(policies, podIndex).filter(({ lookedAt }) => lookedAt > 0);
  const fresh = asking.filter(({ policy }) => changed.has(policy.id));
  const inOrder = (fresh.length > 0 ? fresh : asking).sort(
    (a, b) => b.lookedAt - a.lookedAt || (a.policy.id < b.policy.id ? -1 : 1),
  );
  const enough = AT_A_TIME * inOrder.reduce((sum, { lookedAt }) => sum + lookedAt, 0);
  let chosen = 0;
  const isChosen = ({ lookedAt }: Sized) => {
    chosen += lookedAt;
    return chosen - lookedAt < enough;
  };
  return inOrder.filter(isChosen).map(({ policy }) => policy);
}

function sized(policies: readonly Policy[], podIndex: PodIndex): Sized[] {
  const asked = new Map<string, number>();
  const lookedAtBy = (selector: PodSelector) =>
    getOrMake(asked, podSelectorText(selector), () =>
      podIndex.countLookedAt(selector, Number.POSITIVE_INFINITY),
    );
  return policies.map(policy => {
    const rules = rulesOf(policy);
    const selectors = rules.flatMap(selectorsOf);
    const ofNodes = rules.flatMap(networksOfNodes).length * podIndex.tunnels.nodes.size;
    return { policy, lookedAt: selectors.reduce((sum, selector) => sum + lookedAtBy(selector), ofNodes) };
  });
}

/** N75: each needs a set of the tunnel addresses of nodes. */
function networksOfNodes({ peers }: Rule): readonly Peer[] {
  return peers === 'any' ? [] : peers.filter(peer => peer.kind === 'network' && peer.nodes !== undefined);
}

/** A rule with named ports needs a set of all pods that have such ports, unless its peers are pods. */
function selectorsOf({ peers, ports }: Rule): readonly PodSelector[] {
  const hasNames = ports !== 'any' && ports.some(({ kind }) => kind === 'named');
  if (peers === 'any') return hasNames ? [EVERY_POD] : [];
  return peers.flatMap(peer => {
    if (peer.kind === 'pods') return [peer.selector];
    return hasNames ? [EVERY_POD] : [];
  });
}
