/**
 * The loop: events are applied as they come. When the scheduler says so, the desired state is compared with the actual
 * one, and the difference is committed as one batch. One commit is in flight. A failed one leaves the old rules in
 * force, and the next attempt reads the kernel first.
 *
 *     apply(events) ─▶ pending ──scheduler──▶ flush ─▶ plan(actual, desired) ─▶ commit ─▶ actual = desired
 *                         ▲                                                        │ refused
 *                         └───── recovery: wait, longer each time; nothing is known ◀┘
 */
import { nextTurn } from '../lib/async/eventloopyield.ts';
import { realTiming, type Timing } from '../lib/async/timing.ts';
import type { Cluster, ClusterEvent, Pod, PodKey } from '../model/cluster.ts';
import type { LastingStatus } from '../model/policystatus.ts';
import { type Kernel, KernelError } from '../nft/kernel.ts';
import type { Op } from '../nft/plan/op.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { commitLog } from './commitlog.ts';
import type { Committed, RoundCause } from './committed.ts';
import { DesiredState } from './desiredstate.ts';
import type { EngineFollower, MakeEngine, RulePass } from './engine.ts';
import { isPolicyFault, recoveryFrom } from './failure.ts';
import { KernelState } from './kernelstate.ts';
import type { Log } from './log.ts';
import type { Observer } from './observer.ts';
import { BatchScope, Scheduler } from './scheduler.ts';

export interface AgentOptions {
  /** Opens the kernel: at the start, and whenever its socket is of no use any more. */
  readonly open: () => Promise<Kernel>;
  /** Makes an engine that knows nothing: at the start, and whenever the one in use has broken. */
  readonly engine: MakeEngine;
  /** Passes over the compiled rules, each over the result of the one before. */
  readonly passes?: readonly RulePass[];
  readonly follower?: EngineFollower;
  /** Waited for before each batch. */
  readonly beforeCommit?: (ops: readonly Op[]) => Promise<void>;
  readonly log: Log;
  /** The node whose pods are local; where none is named, all are. */
  readonly node?: string;
  readonly observers?: readonly Partial<Observer>[];
  /** How often the programmed rules are verified although no event arrived. */
  readonly resyncIntervalMs?: number;
  /** How long at the start to wait for another owner of the tables: our predecessor may be about to end. */
  readonly patienceMs?: number;
  /** The most operations on objects that nothing in force refers to, in one commit (nft/plan/portions.ts). */
  readonly portion?: number;
  readonly timing?: Timing;
}

const RESYNC_INTERVAL_MS = 30_000;
export const PATIENCE_MS = 3_000;

export class Agent {
  readonly #options: Omit<AgentOptions, 'observers' | 'timing'>;
  readonly #timing: Timing;
  readonly #observers: Partial<Observer>[];
  readonly #desired: DesiredState;
  readonly #kernel: KernelState;
  readonly #scheduler: Scheduler;
  /** When `run()` began. Events that are applied before that may take minutes to arrive. */
  #startMs = 0;
  #failures = 0;
  #engineUnproven = false;
  /** Another process changed our tables since the last commit. */
  #drifted = false;
  /** The statuses of policies, as observers got them last. */
  #statuses: readonly LastingStatus[] = [];

  constructor({ observers = [], timing = realTiming, ...options }: AgentOptions) {
    this.#options = options;
    this.#timing = timing;
    this.#observers = [...observers, commitLog(options.log)];
    this.#kernel = new KernelState({
      open: options.open,
      onDrift: repair => this.#drift(repair),
      now: timing.now,
      beforeCommit: options.beforeCommit,
      portion: options.portion,
    });
    this.#scheduler = new Scheduler(timing, options.resyncIntervalMs ?? RESYNC_INTERVAL_MS);
    const { engine: makeEngine, passes, follower, node } = options;
    this.#desired = new DesiredState({ makeEngine, passes, follower, node, timing });
  }

  /** Adds an observer, which is called from now on. */
  observe(observer: Partial<Observer>): void {
    this.#observers.push(observer);
  }

  /** The cluster as far as events have come; its policies as far as batches have taken them in. */
  get cluster(): Cluster {
    return this.#desired.cluster;
  }

  /** Pods with changes that are not in force: as the rules in force have them, or nothing where they know none. */
  get podsInForce(): ReadonlyMap<PodKey, Pod | undefined> {
    return this.#desired.podsInForce;
  }

  /**
   * Applies changes of the cluster. Pods, namespaces and nodes of one call become part of the same batch; policies wait
   * for their turn. Returns at once. Urgent changes may exceed the budget of commits.
   */
  apply(events: readonly ClusterEvent[], { urgent = false } = {}): void {
    if (events.length === 0) return;
    for (const event of events) this.#desired.apply(event);
    for (const observer of this.#observers) observer.noted?.(events);
    this.#scheduler.defer(this.#desired.waiting);
    if (events.some(({ type }) => type !== 'policy')) this.#scheduler.pending(urgent);
  }

  /** Dumps the kernel's state as soon as possible, and repairs differences. */
  requestResync(): void {
    this.#scheduler.requestDump();
  }

  /**
   * Reconciles the kernel with the applied state until the signal aborts; the rules stay in force afterwards. Throws,
   * and leaves the rules in force as they are: KernelError if nftables cannot be used or another agent is running, and
   * any error that occurs again directly after a restart from scratch.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#startMs = this.#timing.now();
    try {
      await this.#kernel.open();
      for (;;) {
        const cause = await this.#scheduler.next(signal);
        if (cause === undefined) return;
        // The events applied so far may have blocked the event loop already; the next ones may be small and urgent.
        if (this.#desired.waiting !== undefined) await nextTurn();
        await this.#round(cause);
      }
    } finally {
      this.#kernel.close();
    }
  }

  async #round(cause: RoundCause): Promise<void> {
    const batch = new BatchScope(cause === 'start');
    try {
      const committed = await this.#reconcile(cause, batch);
      this.#scheduler.done(committed.ops.length > 0, this.#kernel.lookIntervalMs);
      if (batch.isBase) this.#scheduler.retry('start', 0);
      else this.#committed(committed);
      if (this.#desired.isBehind) this.#scheduler.pending(false);
    } catch (error) {
      this.#scheduler.retry(cause, this.#recover(error, cause));
    }
    this.#scheduler.defer(this.#desired.waiting);
    this.#reportStatuses();
  }

  async #reconcile(cause: RoundCause, batch: BatchScope): Promise<Committed> {
    const startMs = this.#timing.now();
    const mode = this.#scheduler.begin(cause);
    const { ops, desired } = await this.#kernel.reconcile(actual => this.#flush(actual, batch), mode);
    const unknownBefore = this.#drifted || this.#failures > 0;
    this.#drifted = false;
    const { names, cluster, waitingPods, isolating } = this.#desired;
    return {
      cause: cause === 'look' && names.length > 0 ? 'change' : cause,
      cluster,
      waitingPods,
      isolating,
      ruleset: desired,
      ops,
      names,
      unknownBefore,
      dumped: cause === 'start' || mode === 'verified' || mode === 'dump',
      tookMs: this.#timing.now() - startMs,
    };
  }

  #flush(actual: Ruleset, batch: BatchScope): Promise<Ruleset> {
    const flushing = this.#desired.flush(actual, batch);
    // Events applied from here on belong to the next batch.
    this.#scheduler.taken();
    const waiting = this.#desired.waitingStatuses;
    for (const observer of this.#observers) observer.committing?.(waiting);
    return flushing;
  }

  #committed(committed: Committed): void {
    this.#desired.committed(committed.tookMs);
    this.#failures = 0;
    this.#engineUnproven = false;
    for (const observer of this.#observers) observer.committed?.(committed);
  }

  /** Makes ready for another attempt; answers after how many milliseconds. Throws where there is none. */
  #recover(error: unknown, cause: RoundCause): number {
    if (!this.#desired.isTrial) for (const observer of this.#observers) observer.failed?.(error);
    if (this.#leavesOut(error)) return 0;
    this.#desired.interrupted();
    this.#kernel.forget();
    const recovery = recoveryFrom({
      error,
      cause,
      failuresInARow: ++this.#failures,
      engineUnproven: this.#engineUnproven,
      patient: this.#timing.now() - this.#startMs < (this.#options.patienceMs ?? PATIENCE_MS),
    });
    switch (recovery.kind) {
      case 'give up':
        throw error;
      case 'wait for owner':
        this.#options.log.debug({ retryMs: recovery.afterMs }, 'another agent owns the tables');
        return recovery.afterMs;
      case 'start from scratch':
        this.#startFromScratch(error);
        return 0;
      case 'retry':
        if (recovery.reopenSocket) this.#kernel.close();
        if (recovery.renewEngine) this.#desired.renewEngine();
        this.#logFailure(error as KernelError, recovery.afterMs);
        return recovery.afterMs;
    }
  }

  /** Leaves out of the next attempt the policies that may be the reason; answers whether there are any. */
  #leavesOut(error: unknown): boolean {
    const { isTrial, isSettling } = this.#desired;
    const isExplained = error instanceof KernelError && this.#desired.explains(error);
    if (!isPolicyFault({ error, isTrial, isSettling, isExplained, failuresBefore: this.#failures }))
      return false;
    if (isSettling) this.#kernel.forget();
    const leavesOut = this.#desired.refused(error);
    if (leavesOut && !(error instanceof KernelError)) this.#desired.renewEngine();
    return leavesOut;
  }

  #startFromScratch(error: unknown): void {
    this.#engineUnproven = true;
    this.#options.log.error({ error }, 'rules could not be made, those in force stay; starting from scratch');
    this.#desired.renewEngine();
  }

  #logFailure({ message }: KernelError, retryMs: number): void {
    this.#options.log.error({ retryMs }, `commit failed, the rules in force stay: ${message}`);
  }

  #reportStatuses(): void {
    const { lastingStatuses } = this.#desired;
    if (lastingStatuses === this.#statuses) return;
    this.#statuses = lastingStatuses;
    for (const observer of this.#observers) observer.policyStatuses?.(lastingStatuses);
  }

  #drift(repair: readonly Op[]): void {
    this.#drifted = true;
    for (const observer of this.#observers) observer.drifted?.(repair);
  }
}
