/** Changes that wait for their turn, for those who ask how the agent is: how many there are, for how long, and some by name. */
import type { PodKey } from '../model/cluster.ts';
import type { PolicyId } from '../model/policy.ts';
import type { WaitingPolicy } from '../model/policystatus.ts';
import type { Committed } from './committed.ts';

export interface PodsWaiting {
  /** Pods whose changes the last commit has left for another one, and some of them. */
  readonly waitingPods: number;
  readonly waitingPodNames: readonly PodKey[];
}

export interface PoliciesWaiting {
  /** Policies whose changes wait for their turn, the age of the oldest, and those that have waited longest. */
  readonly waitingPolicies: number;
  readonly waitingPoliciesMs: number;
  readonly waitingPolicyNames: readonly PolicyId[];
}

const MOST_NAMES = 5;

export function waitingPods(pods: Committed['waitingPods']): PodsWaiting {
  return { waitingPods: pods.size, waitingPodNames: firstFew(pods.keys()) };
}

/** The first one has waited longest. */
export function waitingPolicies(deferred: readonly WaitingPolicy[], nowMs: number): PoliciesWaiting {
  const [first] = deferred;
  return {
    waitingPolicies: deferred.length,
    waitingPoliciesMs: first === undefined ? 0 : nowMs - first.sinceMs,
    waitingPolicyNames: firstFew(deferred).map(({ id }) => id),
  };
}

function firstFew<T>(values: Iterable<T>): T[] {
  const few: T[] = [];
  for (const value of values) {
    if (few.length === MOST_NAMES) break;
    few.push(value);
  }
  return few;
}
