/**
 * The desired state: the engine, the events that are pending for its next flush, and the policies that wait for their
 * turn. Pods, namespaces and nodes go to the engine as soon as they arrive; policies go to it when a batch takes them.
 */

import type { TimeBudget } from '../compiler/live/workbudget.ts';
import { inSlices } from '../lib/async/eventloopyield.ts';
import type { Timing } from '../lib/async/timing.ts';
import { errorText } from '../lib/text/errortext.ts';
import type { Cluster, ClusterEvent, Pod, PodKey } from '../model/cluster.ts';
import { clusterEvents } from '../model/clusterevents.ts';
import type { PolicyId } from '../model/policy.ts';
import type { PolicyChange } from '../model/policychange.ts';
import type { LastingStatus, WaitingPolicy } from '../model/policystatus.ts';
import { KernelError } from '../nft/kernel.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { Admission } from './admission/admission.ts';
import { FAIRNESS } from './admission/limits.ts';
import { eventText } from './commitlog.ts';
import {
  type Engine,
  type EngineFollower,
  type MakeEngine,
  type PodInForce,
  type RulePass,
  remembering,
} from './engine.ts';
import type { BatchScope, WaitingChange } from './scheduler.ts';

export interface DesiredStateOptions {
  readonly makeEngine: MakeEngine;
  /** Passes over the engine's rules. */
  readonly passes?: readonly RulePass[] | undefined;
  readonly follower?: EngineFollower | undefined;
  /** The pods of this node are local; where none is named, all are. */
  readonly node: string | undefined;
  readonly timing: Pick<Timing, 'now'>;
}

export class DesiredState {
  readonly #makeEngine: MakeEngine;
  readonly #passes: readonly RulePass[];
  readonly #follower: EngineFollower | undefined;
  readonly #node: string | undefined;
  readonly #timing: Pick<Timing, 'now'>;
  readonly #admission = new Admission({
    countLookedAt: change => this.#engine.countLookedAt(change),
    isOversized: namespace => this.#engine.isOversized(namespace),
  });
  /**
   * Names of objects that have changed since the last flush, and of those that are flushed and not in the kernel yet;
   * pods by their keys.
   */
  readonly #pending = new Map<string, PodKey | undefined>();
  readonly #taken = new Map<string, PodKey | undefined>();
  readonly #podsInForce = new PodsInForce();
  /** The pods that wait, as of the last complete flush. */
  #waitingPods: ReadonlyMap<PodKey, PodInForce | undefined> = new Map();
  #engine: Engine;
  /** A change came since the flush under way began that waits for nothing but its end. */
  #hasWaitingEvents = false;
  /** The engine prepares changes that wait. */
  #isPreparing = false;

  constructor({ makeEngine, passes = [], follower, node, timing }: DesiredStateOptions) {
    this.#makeEngine = makeEngine;
    this.#passes = remembering(passes);
    this.#follower = follower;
    this.#node = node;
    this.#timing = timing;
    this.#engine = makeEngine(true);
    follower?.follow(this.#engine.cluster);
  }

  /** The cluster with all applied events, and with the policies that batches have taken. */
  get cluster(): Cluster {
    return this.#engine.cluster;
  }

  /** Policies whose changes wait for their turn, in order. */
  get waitingStatuses(): readonly WaitingPolicy[] {
    return this.#admission.waitingStatuses();
  }

  /** The statuses of policies that are not waiting changes; the same list until one of them differs. */
  get lastingStatuses(): readonly LastingStatus[] {
    return this.#admission.lastingStatuses();
  }

  /** Names of the objects that have changed with the last flush. */
  get names(): readonly string[] {
    const names: string[] = [];
    for (const name of this.#taken.keys()) if (!this.#waits(name)) names.push(name);
    return names;
  }

  /** Pods whose changes wait for another flush. */
  get waitingPods(): ReadonlyMap<PodKey, PodInForce | undefined> {
    return this.#waitingPods;
  }

  /** Pods with changes that are not in force: as the rules in force have them, or nothing where they know none. */
  get podsInForce(): ReadonlyMap<PodKey, Pod | undefined> {
    return this.#podsInForce.pods(this.cluster);
  }

  /** New policies that isolate what they select, and whose allow rules are for a later flush. */
  get isolating(): ReadonlySet<PolicyId> {
    return this.#admission.isolating;
  }

  /** When policies may be taken, and with which priority; undefined if none waits. */
  get waiting(): WaitingChange | undefined {
    return this.#admission.waiting(this.#timing.now());
  }

  apply(event: ClusterEvent): void {
    if (event.type === 'policy') {
      const isNext = this.#enqueue({ id: event.key, value: event.value });
      this.#hasWaitingEvents ||= isNext;
      return;
    }
    if (event.type === 'pod') this.#applyPod(event.key, event.value);
    this.#applyTo(event);
    this.#pending.set(eventText(event), event.type === 'pod' ? event.key : undefined);
  }

  #enqueue(change: PolicyChange): boolean {
    const programmed = this.cluster.policies.get(change.id);
    return this.#admission.enqueue(change, programmed, this.#timing.now());
  }

  #applyPod(key: PodKey, now: Pod | undefined): void {
    const before = this.cluster.pods.get(key);
    if (startsHere(before, now, this.#node)) {
      this.#admission.podStarted(now!.namespace);
      this.#hasWaitingEvents = true;
    }
    this.#podsInForce.record(key, before);
  }

  /**
   * Flushes all events that are pending now, and the policies that the batch takes: both are decided before it first
   * waits.
   */
  async flush(actual: Ruleset, batch: BatchScope): Promise<Ruleset> {
    const takesPolicies = batch.takesPolicies(actual, this.#admission.isEmpty);
    const changes = takesPolicies ? this.#takePolicies(batch.isFirst) : [];
    for (const [name, pod] of this.#pending) this.#taken.set(name, pod);
    this.#pending.clear();
    this.#podsInForce.take();
    this.#hasWaitingEvents = false;
    let flushed = await inSlices(this.#engine.flushInPieces(this.#timeBudget()));
    for (const pass of this.#passes) flushed = pass(flushed);
    this.#follower?.flushed();
    this.#waitingPods = this.#engine.waitingPods();
    this.#followRefused(changes);
    return flushed;
  }

  #timeBudget(): TimeBudget {
    const untilMs = this.#timing.now() + FAIRNESS.flushMs;
    return {
      hasWaitingEvents: () => this.#hasWaitingEvents || this.#timing.now() >= untilMs,
      moment: () => {
        const endMs = this.#timing.now() + FAIRNESS.momentMs;
        return () => this.#timing.now() < endMs;
      },
    };
  }

  /** Returns the changes of policies that the batch takes. */
  #takePolicies(all: boolean): readonly PolicyChange[] {
    const nowMs = this.#timing.now();
    const isReady = (change: PolicyChange) => this.#engine.isPrepared(change);
    const changes = this.#admission.take(this.cluster.policies, nowMs, all, isReady);
    if (changes.length > 0) {
      this.#applyPolicies(changes);
      this.#recordTaken(changes);
    }
    const coming = this.#admission.isEmpty ? [] : this.#admission.toPrepare(nowMs, isReady);
    if (coming.length > 0 || this.#isPreparing) this.#engine.prepare(coming);
    this.#isPreparing = coming.length > 0;
    return changes;
  }

  #followRefused(changes: readonly PolicyChange[]): void {
    const refused = this.#engine.takeRefused();
    if (changes.length + refused.length === 0) return;
    this.#admission.flushed(changes, refused, this.cluster.policies, this.#timing.now());
    this.#recordTaken(refused.map(value => ({ id: value.id, value })));
  }

  /** Whether some of the applied events wait for the next flush. */
  get isBehind(): boolean {
    return this.#waitingPods.size > 0;
  }

  #recordTaken(changes: readonly PolicyChange[]): void {
    for (const change of changes) this.#taken.set(eventText(eventOf(change)), undefined);
  }

  /** The last flush is in the kernel; making and committing it took this time. */
  committed(tookMs: number): void {
    for (const name of this.#taken.keys()) if (!this.#waits(name)) this.#taken.delete(name);
    this.#podsInForce.committed(this.#waitingPods);
    this.#admission.committed(this.cluster.policies, tookMs, this.#timing.now());
  }

  #waits(name: string): boolean {
    const pod = this.#taken.get(name);
    return pod !== undefined && this.#waitingPods.has(pod);
  }

  /** The batch under way was made to try policies: nothing else is to blame if it is refused. */
  get isTrial(): boolean {
    return this.#admission.isTrial;
  }

  /** Whether the batch under way leaves suspected policies out. */
  get isSettling(): boolean {
    return this.#admission.isSettling;
  }

  /** Whether the kernel named an object of a policy that changed with this batch, or a staged object. */
  explains(error: KernelError): boolean {
    return this.#isStaged(error) || this.#admission.hasTaken(this.#behind(error));
  }

  /**
   * The batch was refused because of its contents: leaves out the policies that may be the cause, and returns whether
   * there are any. If the part of a change that was committed in advance caused it, that part is refused again when the
   * change is taken, and then the policy is known.
   */
  refused(error: unknown): boolean {
    if (this.#isStaged(error)) {
      this.interrupted();
      this.renewEngine();
      return true;
    }
    const reason = errorText(error);
    const refusal = { reason, named: this.#behind(error) };
    const { policies, audited = [] } = this.cluster;
    const changes = this.#admission.refused(refusal, new Map([...policies, ...audited]), this.#timing.now());
    this.#applyPolicies(changes);
    return changes.length > 0;
  }

  #isStaged(error: unknown): boolean {
    return error instanceof KernelError && this.#engine.isStaged(error.op);
  }

  #behind(error: unknown): readonly PolicyId[] {
    const op = error instanceof KernelError ? error.op : undefined;
    return op === undefined ? [] : this.#engine.policiesBehind(op);
  }

  /** The batch failed for another reason. */
  interrupted(): void {
    this.#applyPolicies(this.#admission.interrupted());
  }

  /**
   * Makes another engine for the same cluster. Staged objects may have caused the error, so from now on none are made.
   */
  renewEngine(): void {
    const engine = this.#makeEngine(false);
    this.#follower?.follow(engine.cluster);
    for (const event of clusterEvents(this.cluster)) this.#applyTo(event, engine);
    this.#engine = engine;
  }

  #applyPolicies(changes: readonly PolicyChange[]): void {
    for (const change of changes) this.#applyTo(eventOf(change));
  }

  #applyTo(event: ClusterEvent, engine = this.#engine): void {
    this.#follower?.apply(event);
    engine.apply(event);
  }
}

function eventOf({ id, value }: PolicyChange): ClusterEvent {
  return value === undefined ? { type: 'policy', key: id } : { type: 'policy', key: id, value };
}

/** Whether a pod of this node comes into being, or becomes another to policy. */
function startsHere(before: Pod | undefined, now: Pod | undefined, node: string | undefined): boolean {
  if (now === undefined || (node !== undefined && now.node !== node)) return false;
  if (before === undefined || before.addresses.length === 0) return true;
  return before.labels !== now.labels && JSON.stringify(before.labels) !== JSON.stringify(now.labels);
}

/**
 * What the rules in force were made from, where that is not what the cluster has: each pod with a change that is not in
 * force yet, as it was before, or nothing where the rules know none.
 *
 *     record ─▶ recorded ──take──▶ taken ──committed──▶ in force
 *                               └── those that wait for another flush are as the engine has them
 */
export class PodsInForce {
  readonly #taken = new Map<PodKey, Pod | undefined>();
  /** Pods whose changes arrived since the last flush began. */
  #recorded = new Map<PodKey, Pod | undefined>();
  /** The pods that wait, as of the last commit. */
  #waiting: ReadonlyMap<PodKey, PodInForce | undefined> = new Map();

  /** A pod changes; `before` is its version in the cluster until now. */
  record(key: PodKey, before: Pod | undefined): void {
    if (!this.#recorded.has(key)) this.#recorded.set(key, before);
  }

  /** A flush begins. */
  take(): void {
    // A pod that was taken before and is not in force yet is in force as it was before that.
    for (const [key, before] of this.#recorded) if (!this.#taken.has(key)) this.#taken.set(key, before);
    this.#recorded = new Map();
  }

  /** The changes that the flush took are in force now, except those that wait. */
  committed(waiting: ReadonlyMap<PodKey, PodInForce | undefined>): void {
    this.#taken.clear();
    this.#waiting = waiting;
  }

  /** The pods as the rules have them; each has the namespace of the rules, if that differs from the cluster's. */
  pods({ namespaces }: Cluster): ReadonlyMap<PodKey, Pod | undefined> {
    const waiting = [...this.#waiting].map(([key, inForce]) => [key, podIn(inForce, namespaces)] as const);
    return new Map([...this.#recorded, ...this.#taken, ...waiting]);
  }
}

function podIn(inForce: PodInForce | undefined, namespaces: Cluster['namespaces']): Pod | undefined {
  if (inForce === undefined) return undefined;
  const { pod, namespace } = inForce;
  return namespaces.get(pod.namespace) === namespace ? pod : { ...pod, namespaceInForce: namespace };
}
