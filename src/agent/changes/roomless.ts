/**
 * Policies that isolate what they select and allow nothing, since there is no room for what the peers of their namespace's
 * policies mean. Each is tried again from time to time: others of its namespace, or the pods, may be fewer by then.
 */

import { MEMBER_ROOM } from '../../compiler/live/groups/memberroom.ts';
import { backoffMs } from '../../lib/async/backoff.ts';
import { thousands } from '../../lib/text/thousands.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import { type Quarantined, UNCHANGED } from './quarantine.ts';

interface Held {
  readonly wanted: Policy;
  readonly refusals: number;
  readonly triedAtMs: number;
}

/** However many there are: to make one ready is work, and mostly for nothing. */
const PAUSE_MS = 5_000;

const REASON = `the peers of its namespace's NetworkPolicies mean more addresses than a node has room for (in sets, ${thousands(MEMBER_ROOM.ofNamespace)} of one namespace and ${thousands(MEMBER_ROOM.ofAll)} of all): fewer or wider selectors need less`;

export class Roomless {
  /** Those that were tried longest ago come first. */
  readonly #held = new Map<PolicyId, Held>();
  #againAtMs = 0;

  get list(): readonly Quarantined[] {
    return [...this.#held.keys()].map(id => ({
      id,
      reason: REASON,
      isOfRoom: true,
      keepsLastVersion: false,
    }));
  }

  /** A flush took these changes in, and found no room for those policies, which it or older ones took in. */
  flushed(taken: readonly PolicyChange[], refused: readonly Policy[], nowMs: number): void {
    const before = new Map(refused.map(({ id }) => [id, this.#held.get(id)]));
    for (const { id } of taken) this.#held.delete(id);
    for (const policy of refused) {
      this.#held.delete(policy.id);
      const refusals = 1 + (before.get(policy.id)?.refusals ?? 0);
      this.#held.set(policy.id, { wanted: policy, refusals, triedAtMs: nowMs });
    }
  }

  /** Each as it was asked for. */
  wanted(): Policy[] {
    return [...this.#held.values()].map(({ wanted }) => wanted);
  }

  /**
   * The next one that is to be tried again, as it was asked for; nothing where it is nobody's time. Of those that wait for
   * something else nobody is held up.
   */
  takeDue(nowMs: number, waits: (id: PolicyId) => boolean = () => false): PolicyChange | undefined {
    if (nowMs < this.#againAtMs) return undefined;
    for (const [id, { wanted, refusals, triedAtMs }] of this.#held) {
      if (triedAtMs + backoffMs(UNCHANGED, refusals) > nowMs || waits(id)) continue;
      this.#againAtMs = nowMs + PAUSE_MS;
      return { id, value: wanted };
    }
    return undefined;
  }
}
