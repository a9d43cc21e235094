/**
 * Policies whose rules are not in force for one of two reasons: the kernel refuses them, or there is no room on the node for
 * the addresses that their peers mean. A fallback is in force instead: the last good version, or what isolates all that the
 * policy selects. Each is tried again from time to time, because the reason may have gone.
 *
 * The kernel takes a batch whole or not at all, so a policy that it refuses is found by leaving policies out:
 *
 *     refused ─▶ suspects are held at their fallbacks ─▶ accepted ─▶ one suspect: it is to blame
 *                   ▲        │ refused: more suspects                several: they are tried by groups
 *                   └────────┘                                           │ accepted: the group is released
 *                                                                        └ refused: it is halved; of one, to blame
 *
 * The engine says itself for which policies there is no room. These are tried again by way of the queue, which takes their
 * edits too: what they need has to be prepared.
 */
import { SET_QUOTA } from '../../compiler/live/groups/setquota.ts';
import { type Backoff, backoffMs } from '../../lib/async/backoff.ts';
import { thousands } from '../../lib/text/thousands.ts';
import { namespaceOfPolicy, type Policy, type PolicyId, withoutRules } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import type { QuarantinedPolicy, SuspectedPolicy } from '../../model/policystatus.ts';
import { isolated } from './change.ts';

type Reason = QuarantinedPolicy['reason'];

interface Held {
  /** The version that the cluster has. */
  wanted: Policy | undefined;
  /** The version that is in force instead. */
  readonly fallback: Policy | undefined;
  readonly keepsLastVersion: boolean;
  /** Absent while it is only suspected. */
  blame?: Pick<QuarantinedPolicy, 'reason' | 'detail'>;
  refusals: number;
  triedAtMs: number;
  /** Whether the policy has changed since the last attempt. */
  changed: boolean;
}

/** A policy that changed is tried again soon, one that did not rarely. */
const AGAIN: { readonly changed: Backoff; readonly same: Backoff } = {
  changed: { firstMs: 500, mostMs: 60_000 },
  same: { firstMs: 30_000, mostMs: 1_800_000 },
};
/**
 * Pause between two attempts, for all quarantined policies together: after a refusal the kernel is dumped, and all
 * commits wait for that; and it is wasted work to prepare a policy that finds no room.
 */
const PAUSE_MS: Readonly<Record<Reason, number>> = { refused: 500, 'no room': 5_000 };

const NO_ROOM = {
  reason: 'no room',
  detail: `the peers of its namespace's NetworkPolicies mean more addresses than a node has room for (in sets, ${thousands(SET_QUOTA.ofNamespace)} of one namespace and ${thousands(SET_QUOTA.ofAll)} of all): fewer or wider selectors need less`,
} as const;

export class Quarantine {
  /** Policies without room that were tried longest ago come first. */
  readonly #held = new Map<PolicyId, Held>();
  /** Suspects that are to be tried, a group at a time. */
  #groups: (readonly PolicyId[])[] = [];
  /** The group in the batch under way. */
  #trial: readonly PolicyId[] | undefined;
  /** The batch under way is to show whether the rest is accepted without the suspects. */
  #settling = false;
  readonly #againAtMs: Record<Reason, number> = { refused: 0, 'no room': 0 };
  /** The kernel's message when it refused the suspects. */
  #refusal = '';

  statuses(): (QuarantinedPolicy | SuspectedPolicy)[] {
    return [...this.#held].map(([id, { blame, keepsLastVersion }]) =>
      blame === undefined
        ? { id, kind: 'suspected', keepsLastVersion }
        : { id, kind: 'quarantined', ...blame, keepsLastVersion },
    );
  }

  /** The batch under way, or the next, must contain only the versions that the quarantine returned. */
  get isSettling(): boolean {
    return this.#settling;
  }

  get isTrying(): boolean {
    return this.#trial !== undefined;
  }

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  has(id: PolicyId): boolean {
    return this.#held.has(id);
  }

  /** Whether changes of the policy wait here, and not in the queue. */
  takesChangesOf(id: PolicyId): boolean {
    return this.has(id) && !this.#hasNoRoom(id);
  }

  /** A quarantined policy has changed: it is tried again, and its fallback stays in force until then. */
  change({ id, value }: PolicyChange): void {
    const held = this.#held.get(id)!;
    held.wanted = value;
    held.changed = true;
  }

  /** When the next group of policies is to be tried; undefined if there is none. */
  readyAtMs(nowMs: number): number | undefined {
    if (this.#settling || this.#groups.length > 0) return nowMs;
    const times = [...this.#held.values()].filter(({ blame }) => blame?.reason === 'refused').map(nextTryMs);
    return times.length === 0 ? undefined : Math.max(nowMs, this.#againAtMs.refused, Math.min(...times));
  }

  /** The next group, as it was asked for. */
  takeGroup(nowMs: number): PolicyChange[] {
    const due = this.#groups.length === 0 ? this.#takeDue('refused', nowMs) : undefined;
    this.#trial = due === undefined ? this.#groups.shift() : [due];
    for (const id of this.#trial ?? []) this.#held.get(id)!.changed = false;
    return (this.#trial ?? []).map(id => this.#asWanted(id));
  }

  /** The next policy without room that is to be tried, as it was asked for; undefined where there is none. */
  takeWithoutRoom(
    nowMs: number,
    isQueued: (id: PolicyId) => boolean = () => false,
  ): PolicyChange | undefined {
    const due = this.#takeDue('no room', nowMs, isQueued);
    return due && this.#asWanted(due);
  }

  #takeDue(reason: Reason, nowMs: number, isQueued = (_: PolicyId) => false): PolicyId | undefined {
    if (nowMs < this.#againAtMs[reason]) return undefined;
    for (const [id, held] of this.#held) {
      if (held.blame?.reason !== reason || nextTryMs(held) > nowMs || isQueued(id)) continue;
      this.#againAtMs[reason] = nowMs + PAUSE_MS[reason];
      return id;
    }
    return undefined;
  }

  /**
   * A flush took these changes, and found no room for those policies, which this flush or an earlier one took. Returns
   * the policies that changed since the quarantine tried them.
   */
  flushed(taken: readonly PolicyChange[], withoutRoom: readonly Policy[], nowMs: number): PolicyChange[] {
    const without = new Set(withoutRoom.map(({ id }) => id));
    for (const { id } of taken) if (this.#hasNoRoom(id) && !without.has(id)) this.#held.delete(id);
    return withoutRoom.flatMap(policy => this.#hold(policy, nowMs));
  }

  #hold(policy: Policy, nowMs: number): PolicyChange[] {
    const { id } = policy;
    const before = this.#held.get(id);
    const isTried = this.#trial?.includes(id) ?? false;
    this.#trial = this.#trial?.filter(other => other !== id);
    const instead = { fallback: withoutRules(policy, 'no room'), keepsLastVersion: false };
    if (before !== undefined && !isTried && !this.#hasNoRoom(id)) {
      // There is no room for its fallback.
      this.#held.set(id, { ...before, ...instead });
      return [];
    }
    const refusals = 1 + (before?.refusals ?? 0);
    this.#held.delete(id);
    this.#held.set(id, {
      wanted: policy,
      ...instead,
      blame: NO_ROOM,
      refusals,
      triedAtMs: nowMs,
      changed: false,
    });
    return before?.changed ? [{ id, value: before.wanted }] : [];
  }
  /**
   * Holds the suspects back; returns the versions to put in force in place of theirs. `lastGood` lacks a policy that
   * was never in force.
   */
  suspect(
    suspects: readonly PolicyChange[],
    lastGood: ReadonlyMap<PolicyId, Policy | undefined>,
    reason: string,
    nowMs: number,
  ): PolicyChange[] {
    this.#settling = true;
    this.#refusal = reason;
    return suspects.map(({ id, value }) => {
      const last = lastGood.get(id);
      const fallback = last ?? (value && refused(value));
      const rest = { refusals: 0, triedAtMs: nowMs, changed: false };
      this.#held.set(id, { wanted: value, fallback, keepsLastVersion: last !== undefined, ...rest });
      return { id, value: fallback };
    });
  }

  /** The batch under way is in force; returns the later changes of policies that it released. */
  accepted(nowMs: number): PolicyChange[] {
    if (this.#settling) this.#settled(nowMs);
    const released = this.#trial ?? [];
    this.#trial = undefined;
    const later = released.filter(id => this.#held.get(id)!.changed);
    const changes = later.map(id => this.#asWanted(id));
    for (const id of released) this.#held.delete(id);
    return changes;
  }

  #settled(nowMs: number): void {
    this.#settling = false;
    const grouped = new Set(this.#groups.flat());
    const suspects = [...this.#held].flatMap(([id, { blame }]) =>
      blame === undefined && !grouped.has(id) ? [id] : [],
    );
    if (suspects.length === 1) this.#blame(suspects[0]!, this.#refusal, nowMs);
    else this.#groups.push(...halves(suspects));
  }

  /** The group under way was refused; returns the versions to put in force in its place. */
  refused(reason: string, nowMs: number): PolicyChange[] {
    const group = this.#trial ?? [];
    this.#trial = undefined;
    if (group.length === 1) this.#blame(group[0]!, reason, nowMs);
    else this.#groups.push(...halves(group));
    return group.map(id => ({ id, value: this.#held.get(id)!.fallback }));
  }

  /** Even the last good versions of these policies are refused: from now on they isolate. */
  isolate(ids: readonly PolicyId[], reason: string): PolicyChange[] {
    this.#settling = true;
    this.#refusal = reason;
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

  #blame(id: PolicyId, detail: string, nowMs: number): void {
    const held = this.#held.get(id)!;
    held.blame = { reason: 'refused', detail };
    held.refusals++;
    held.triedAtMs = nowMs;
    held.changed = false;
  }

  #hasNoRoom(id: PolicyId): boolean {
    return this.#held.get(id)?.blame?.reason === 'no room';
  }

  #asWanted(id: PolicyId): PolicyChange {
    return { id, value: this.#held.get(id)!.wanted };
  }
}

function refused(policy: Policy): Policy {
  return { ...isolated(policy), closed: 'refused' };
}

/** Suspects wait for their group. */
function nextTryMs({ blame, refusals, triedAtMs, changed }: Held): number {
  if (blame === undefined) return Number.POSITIVE_INFINITY;
  return triedAtMs + backoffMs(changed ? AGAIN.changed : AGAIN.same, refusals);
}

/** Namespaces stay together as long as there are several: the others are released with the first groups. */
function halves(ids: readonly PolicyId[]): PolicyId[][] {
  const parts = [...Map.groupBy(ids, namespaceOfPolicy).values()];
  const units = parts.length > 1 ? parts : ids.map(id => [id]);
  const middle = Math.ceil(units.length / 2);
  return [units.slice(0, middle).flat(), units.slice(middle).flat()].filter(group => group.length > 0);
}
