/**
 * Policies whose rules the kernel refuses, so that everybody else's are programmed. The kernel takes a batch whole or
 * not at all, so whoever is to blame is found by leaving policies out:
 *
 *     refused ─▶ suspects are held at their fallbacks ─▶ accepted ─▶ one suspect: it is to blame
 *                   ▲        │ refused: more suspects                several: they are tried by groups
 *                   └────────┘                                           │ accepted: the group is released
 *                                                                        └ refused: it is halved; of one, to blame
 *
 * The fallback of a policy is its last good version, or what isolates all that it selects. Who is to blame stays held
 * until it changes, and is tried again from time to time: the reason may have gone.
 */
import { type Backoff, backoffMs } from '../../lib/async/backoff.ts';
import { namespaceOfPolicy, type Policy, type PolicyId } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import { isolated } from './isolated.ts';

/** A policy that is to blame. */
export interface Quarantined {
  readonly id: PolicyId;
  readonly reason: string;
  /** There is no room for what it needs (roomless.ts); else the kernel refuses it. */
  readonly isOfRoom?: true;
  /** Whether its last good version is in force; else it isolates what it selects and allows nothing. */
  readonly keepsLastVersion: boolean;
}

interface Held {
  /** What was asked for. */
  wanted: Policy | undefined;
  /** What is in force instead. */
  readonly fallback: Policy | undefined;
  readonly keepsLastVersion: boolean;
  /** Why; absent while it is only suspected. */
  reason?: string;
  refusals: number;
  triedAtMs: number;
  /** It changed since it was tried. */
  changed: boolean;
}

/** What was refused and did not change. */
export const UNCHANGED: Backoff = { firstMs: 30_000, mostMs: 1_800_000 };
/** One that changed is tried again soon, one that did not rarely: each refusal costs everybody a look at the kernel. */
const AGAIN: { readonly changed: Backoff; readonly same: Backoff; readonly pauseMs: number } = {
  changed: { firstMs: 500, mostMs: 60_000 },
  same: UNCHANGED,
  /** However many are to be tried again. */
  pauseMs: 500,
};

export class Quarantine {
  readonly #held = new Map<PolicyId, Held>();
  /** Suspects that are to be tried, a group at a time. */
  #groups: (readonly PolicyId[])[] = [];
  /** The group in the batch under way. */
  #trial: readonly PolicyId[] | undefined;
  /** The batch under way is to show whether the rest is accepted without the suspects. */
  #settling = false;
  #againAtMs = 0;
  #reason = '';

  get list(): readonly Quarantined[] {
    return [...this.#held].flatMap(([id, { reason, keepsLastVersion }]) =>
      reason === undefined ? [] : [{ id, reason, keepsLastVersion }],
    );
  }

  /** The batch under way, or the next, must hold nothing but what the quarantine says. */
  get isSettling(): boolean {
    return this.#settling;
  }

  get isTrying(): boolean {
    return this.#trial !== undefined;
  }

  holds(id: PolicyId): boolean {
    return this.#held.has(id);
  }

  /** A policy that is held has changed: it is tried again, and until then its fallback stays. */
  note({ id, value }: PolicyChange): void {
    const held = this.#held.get(id)!;
    held.wanted = value;
    held.changed = true;
  }

  /** When the next group is to be tried; nothing where none is. */
  readyAtMs(nowMs: number): number | undefined {
    if (this.#settling || this.#groups.length > 0) return nowMs;
    const times = [...this.#held.values()].map(nextTryMs);
    return times.length === 0 ? undefined : Math.max(nowMs, this.#againAtMs, Math.min(...times));
  }

  /** The next group, as it was asked for. */
  takeGroup(nowMs: number): PolicyChange[] {
    this.#trial = this.#groups.shift() ?? this.#dueOne(nowMs);
    for (const id of this.#trial ?? []) this.#held.get(id)!.changed = false;
    return (this.#trial ?? []).map(id => ({ id, value: this.#held.get(id)!.wanted }));
  }

  /** Holds suspects; answers what is to be in force instead. `lastGood` knows nothing of one that was never in force. */
  suspect(
    suspects: readonly PolicyChange[],
    lastGood: ReadonlyMap<PolicyId, Policy | undefined>,
    reason: string,
    nowMs: number,
  ): PolicyChange[] {
    this.#settling = true;
    this.#reason = reason;
    return suspects.map(({ id, value }) => {
      const last = lastGood.get(id);
      const fallback = last ?? (value && refused(value));
      const rest = { refusals: 0, triedAtMs: nowMs, changed: false };
      this.#held.set(id, { wanted: value, fallback, keepsLastVersion: last !== undefined, ...rest });
      return { id, value: fallback };
    });
  }

  /** The batch under way is in force; answers what has changed since of those that it released. */
  accepted(nowMs: number): PolicyChange[] {
    if (this.#settling) this.#settled(nowMs);
    const released = this.#trial ?? [];
    this.#trial = undefined;
    const later = released.filter(id => this.#held.get(id)!.changed);
    const changes = later.map(id => ({ id, value: this.#held.get(id)!.wanted }));
    for (const id of released) this.#held.delete(id);
    return changes;
  }

  #settled(nowMs: number): void {
    this.#settling = false;
    const grouped = new Set(this.#groups.flat());
    const suspects = [...this.#held].flatMap(([id, { reason }]) =>
      reason === undefined && !grouped.has(id) ? [id] : [],
    );
    if (suspects.length === 1) this.#blame(suspects[0]!, this.#reason, nowMs);
    else this.#groups.push(...halves(suspects));
  }

  /** The group under way was refused; answers what is to be in force instead of it. */
  refused(reason: string, nowMs: number): PolicyChange[] {
    const group = this.#trial ?? [];
    this.#trial = undefined;
    if (group.length === 1) this.#blame(group[0]!, reason, nowMs);
    else this.#groups.push(...halves(group));
    return group.map(id => ({ id, value: this.#held.get(id)!.fallback }));
  }

  /** Their last good versions are refused too: they isolate from now on. */
  isolate(ids: readonly PolicyId[], reason: string): PolicyChange[] {
    this.#settling = true;
    this.#reason = reason;
    return ids.map(id => {
      const held = this.#held.get(id)!;
      const fallback = held.wanted && refused(held.wanted);
      this.#held.set(id, { ...held, fallback, keepsLastVersion: false });
      return { id, value: fallback };
    });
  }

  keepsLastVersion(id: PolicyId): boolean {
    return this.#held.get(id)?.keepsLastVersion ?? false;
  }

  /** The group under way was not judged: it is tried again. */
  postpone(): PolicyChange[] {
    const group = this.#trial ?? [];
    this.#trial = undefined;
    if (group.length > 0) this.#groups.unshift(group);
    return group.map(id => ({ id, value: this.#held.get(id)!.fallback }));
  }

  #blame(id: PolicyId, reason: string, nowMs: number): void {
    const held = this.#held.get(id)!;
    held.reason = reason;
    held.refusals++;
    held.triedAtMs = nowMs;
    held.changed = false;
  }

  #dueOne(nowMs: number): readonly PolicyId[] | undefined {
    if (nowMs < this.#againAtMs) return undefined;
    for (const [id, held] of this.#held)
      if (nextTryMs(held) <= nowMs) {
        this.#againAtMs = nowMs + AGAIN.pauseMs;
        return [id];
      }
    return undefined;
  }
}

function refused(policy: Policy): Policy {
  return { ...isolated(policy), allowsNothing: 'kernel refuses' };
}

/** Suspects wait for their group. */
function nextTryMs({ reason, refusals, triedAtMs, changed }: Held): number {
  if (reason === undefined) return Number.POSITIVE_INFINITY;
  return triedAtMs + backoffMs(changed ? AGAIN.changed : AGAIN.same, refusals);
}

/** Namespaces stay together as long as there are several: the others are released with the first groups. */
function halves(ids: readonly PolicyId[]): PolicyId[][] {
  const parts = [...Map.groupBy(ids, namespaceOfPolicy).values()];
  const units = parts.length > 1 ? parts : ids.map(id => [id]);
  const middle = Math.ceil(units.length / 2);
  return [units.slice(0, middle).flat(), units.slice(middle).flat()].filter(group => group.length > 0);
}
