/**
 * Small changes that tighten, which may go beyond the budget of commits. Each namespace has a ration of that, so that one
 * that tightens without end waits like everybody else, and does not use up what is there for the others.
 */

import { type Rate, TokenBucket } from '../../lib/fairness/tokenbucket.ts';
import type { PolicyId } from '../../model/policy.ts';

export const RATION: Rate = { burst: 5, perSecond: 3 };
/** Rations that are whole again need not be remembered. */
const MOST_REMEMBERED = 1000;

export class HastyChanges {
  readonly #waiting = new Map<string, Set<PolicyId>>();
  readonly #rations = new Map<string, TokenBucket>();

  add(namespace: string, id: PolicyId): void {
    this.#waiting.set(namespace, (this.#waiting.get(namespace) ?? new Set()).add(id));
  }

  delete(namespace: string, id: PolicyId): void {
    const ids = this.#waiting.get(namespace);
    if (ids?.delete(id) && ids.size === 0) this.#waiting.delete(namespace);
  }

  /** Whether one of a namespace waits that has some of its ration left. */
  mayGo(nowMs: number): boolean {
    return [...this.#waiting.keys()].some(namespace => this.#isLeft(namespace, nowMs));
  }

  /** A batch takes them in. */
  taken(nowMs: number): void {
    for (const namespace of this.#waiting.keys())
      if (this.#isLeft(namespace, nowMs)) this.#take(namespace, nowMs);
    if (this.#rations.size > MOST_REMEMBERED) this.#forget(nowMs);
  }

  #isLeft(namespace: string, nowMs: number): boolean {
    return (this.#rations.get(namespace)?.level(nowMs) ?? RATION.burst) >= 1;
  }

  #take(namespace: string, nowMs: number): void {
    const ration = this.#rations.get(namespace) ?? new TokenBucket(RATION);
    ration.take(nowMs);
    this.#rations.set(namespace, ration);
  }

  #forget(nowMs: number): void {
    for (const [namespace, ration] of this.#rations)
      if (ration.level(nowMs) >= RATION.burst) this.#rations.delete(namespace);
  }
}
