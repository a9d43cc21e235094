/**
 * Which policies the next batch takes in. Other events are in the engine as soon as they come; a policy waits here for
 * its turn, and one that the kernel refuses is held here, so that the engine never knows of it:
 *
 *     enqueue ─▶ queue ──take──▶ batch ─▶ flushed ─▶ committed
 *                 ▲ ▲             │ refused  │ no room
 *        released │ │ tried again │          │
 *                quarantine ◀─────┴──────────┘
 *                 └─▶ fallbacks ─▶ next batch
 */
import { isAsWritten, type Policy, type PolicyId } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import {
  type LastingStatus,
  type StatusAsRead,
  statusAsRead,
  type WaitingPolicy,
} from '../../model/policystatus.ts';
import type { WaitingChange } from '../scheduler.ts';
import { Quarantine } from './quarantine.ts';
import { AdmissionQueue, type CostEstimate, type IsReady, NO_ESTIMATE } from './queue.ts';

/** The parts of a refused batch that show which change caused the refusal. */
export interface RefusalCause {
  readonly reason: string;
  /** Policies from which the object was made that the kernel named; empty if it named none. */
  readonly named: readonly PolicyId[];
}

const NONE: ReadonlySet<PolicyId> = new Set();

type HeldStatus = ReturnType<Quarantine['statuses']>[number];

export class Admission {
  readonly #queue: AdmissionQueue;
  readonly #estimate: CostEstimate;
  readonly #quarantine = new Quarantine();
  /** The last version in force of each policy that is in the current batch, or in batches refused before it. */
  readonly #lastGood = new Map<PolicyId, Policy | undefined>();
  /** Policies that are not as their authors wrote them already when they come here. */
  readonly #asRead = new Map<PolicyId, StatusAsRead>();
  #lasting: readonly LastingStatus[] = [];
  #held: readonly HeldStatus[] = [];
  #isAsReadNews = false;
  /** The quarantine had the last turn. */
  #triedLast = false;

  constructor(estimate = NO_ESTIMATE) {
    this.#estimate = estimate;
    this.#queue = new AdmissionQueue(estimate);
  }

  /** The policies whose changes wait for their turn, in order. */
  waitingStatuses(): readonly WaitingPolicy[] {
    return this.isEmpty ? [] : this.#queue.statuses();
  }

  /** The statuses of policies that are not waiting changes; the same list until one of them differs. */
  lastingStatuses(): readonly LastingStatus[] {
    const held = this.#quarantine.statuses();
    if (!this.#isAsReadNews && isSameList(held, this.#held)) return this.#lasting;
    this.#isAsReadNews = false;
    this.#held = held;
    this.#lasting = [...held, ...this.#asRead.values()];
    return this.#lasting;
  }

  /** Whether no change waits for a batch. */
  get isEmpty(): boolean {
    return this.#queue.size === 0;
  }

  get #isIdle(): boolean {
    return this.#queue.size === 0 && this.#quarantine.isEmpty;
  }

  /** Policies that isolate what they select, and whose allow rules wait. */
  get isolating(): ReadonlySet<PolicyId> {
    return this.isEmpty ? NONE : this.#queue.isolating;
  }

  /**
   * Enqueues a change of a policy; `programmed` is its version in force. Returns whether some of the change may be in
   * the next batch, apart from the preparation that it needs.
   */
  enqueue(change: PolicyChange, programmed: Policy | undefined, nowMs: number): boolean {
    this.#readStatus(change);
    if (!this.#quarantine.takesChangesOf(change.id))
      return this.#queue.enqueue(change, programmed, nowMs, this.#estimate.countLookedAt(change));
    this.#quarantine.change(change);
    return false;
  }

  #readStatus({ id, value }: PolicyChange): void {
    const status = value === undefined || isAsWritten(value) ? undefined : statusAsRead(value);
    if (status?.kind === this.#asRead.get(id)?.kind && status?.reason === this.#asRead.get(id)?.reason)
      return;
    if (status === undefined) this.#asRead.delete(id);
    else this.#asRead.set(id, status);
    this.#isAsReadNews = true;
  }

  /** A pod has started in that namespace: new policies must not come after it. */
  podStarted(namespace: string): void {
    this.#queue.podStarted(namespace);
  }

  /** The changes that a batch could take now; undefined if no change waits. */
  waiting(nowMs: number): WaitingChange | undefined {
    if (this.#isIdle) return undefined;
    const [queued, atMs] = [this.#queue.waiting(nowMs), this.#quarantine.readyAtMs(nowMs)];
    if (atMs === undefined || (queued !== undefined && queued.atMs <= atMs)) return queued;
    return { atMs, sinceMs: atMs, priority: 'normal' };
  }

  /**
   * Takes the changes for the batch that is made now: of large policies, only those that are ready. With `all`, it
   * takes every change.
   */
  take(
    policies: ReadonlyMap<PolicyId, Policy>,
    nowMs: number,
    all: boolean,
    isReady: IsReady,
  ): readonly PolicyChange[] {
    if (this.#isIdle) return [];
    const again = this.#quarantine.takeWithoutRoom(nowMs, id => this.#queue.has(id));
    if (again !== undefined) this.enqueue(again, policies.get(again.id), nowMs);
    if (this.#quarantine.isSettling) return [];
    const { isolating } = this;
    const hasGood = (id: PolicyId) => !isolating.has(id) && !this.#quarantine.has(id);
    const changes = this.#turn(nowMs, all, isReady);
    for (const { id } of changes)
      if (!this.#lastGood.has(id)) this.#lastGood.set(id, hasGood(id) ? policies.get(id) : undefined);
    return changes;
  }

  /** A flush has taken these changes, and found no room for those policies, which this flush or an earlier one took. */
  flushed(
    taken: readonly PolicyChange[],
    withoutRoom: readonly Policy[],
    policies: ReadonlyMap<PolicyId, Policy>,
    nowMs: number,
  ): void {
    for (const change of this.#quarantine.flushed(taken, withoutRoom, nowMs))
      this.enqueue(change, policies.get(change.id), nowMs);
  }

  /** Changes that later batches may take only after their peer groups and chains are prepared. */
  toPrepare(nowMs: number, isReady: IsReady): readonly PolicyChange[] {
    return this.#queue.toPrepare(nowMs, isReady);
  }

  committed(policies: ReadonlyMap<PolicyId, Policy>, tookMs: number, nowMs: number): void {
    this.#lastGood.clear();
    this.#queue.took(tookMs, nowMs);
    for (const change of this.#quarantine.accepted(nowMs))
      this.#queue.enqueue(change, policies.get(change.id), nowMs);
  }

  /** The batch under way leaves suspects out, and is to show that the rest is accepted. */
  get isSettling(): boolean {
    return this.#quarantine.isSettling;
  }

  /** Whether one of these has changed since the last commit. */
  hasTaken(ids: readonly PolicyId[]): boolean {
    return ids.some(id => this.#lastGood.has(id));
  }

  /** The quarantine tried a group: nothing but the group is to blame for a refusal. */
  get isTrial(): boolean {
    return this.#quarantine.isTrying;
  }

  /**
   * The kernel refused the batch. Returns the versions to put in force in place of those that may have caused it; empty
   * if no suspect is left.
   */
  refused(
    { reason, named }: RefusalCause,
    policies: ReadonlyMap<PolicyId, Policy>,
    nowMs: number,
  ): readonly PolicyChange[] {
    if (this.#quarantine.isTrying) return this.#quarantine.refused(reason, nowMs);
    const lastGoodToo = named.filter(id => this.#quarantine.keepsLastVersion(id));
    if (lastGoodToo.length > 0) return this.#quarantine.isolate(lastGoodToo, reason);
    const suspects = this.#suspects(named, policies);
    // Suspects that still wait are withdrawn from the queue: a batch would take them as well as the quarantine, which
    // would undo them when it tries a version that it knows.
    const changes = suspects.map(id => this.#queue.withdraw(id) ?? { id, value: policies.get(id) });
    return this.#quarantine.suspect(changes, this.#lastGood, reason, nowMs);
  }

  /** The batch failed for a reason that is not in its contents. */
  interrupted(): readonly PolicyChange[] {
    return this.#quarantine.postpone();
  }

  #turn(nowMs: number, all: boolean, isReady: IsReady): PolicyChange[] {
    const isDue = (atMs: number | undefined) => atMs !== undefined && atMs <= nowMs;
    const tries =
      isDue(this.#quarantine.readyAtMs(nowMs)) &&
      !(this.#triedLast && isDue(this.#queue.waiting(nowMs)?.atMs));
    this.#triedLast = tries;
    if (tries) return this.#quarantine.takeGroup(nowMs);
    return all ? this.#queue.takeAll() : this.#queue.takeShare(nowMs, isReady);
  }

  /** Those that were named and are new; else those that were named; else all that are new; else all. */
  #suspects(named: readonly PolicyId[], policies: ReadonlyMap<PolicyId, Policy>): readonly PolicyId[] {
    const isFree = (id: PolicyId) => !this.#quarantine.has(id);
    const taken = [...this.#lastGood.keys()];
    const steps = [named.filter(id => this.#lastGood.has(id)), named, taken, [...policies.keys()]];
    for (const step of steps) {
      const free = step.filter(isFree);
      if (free.length > 0) return free;
    }
    return [];
  }
}

/** There may be thousands, and this is asked with each batch: no text is made of them. */
function isSameList(a: readonly HeldStatus[], b: readonly HeldStatus[]): boolean {
  return a.length === b.length && a.every((each, at) => isSameStatus(each, b[at]!));
}

function isSameStatus(a: HeldStatus, b: HeldStatus): boolean {
  if (a.id !== b.id || a.keepsLastVersion !== b.keepsLastVersion) return false;
  if (a.kind === 'suspected' || b.kind === 'suspected') return a.kind === b.kind;
  return a.reason === b.reason && a.detail === b.detail;
}
