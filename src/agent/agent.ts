/**
 * The loop: events are noted as they come; when there is budget, what should stand is compared with what stands,
 * and the difference is committed as one batch. One commit is in flight. A failed one leaves the old rules in
 * force, and the next attempt reads the kernel first.
 *
 *     note(events) ─▶ pending ──budget──▶ flush ─▶ plan(known, desired) ─▶ commit ─▶ known = desired
 *                        ▲                                                   │ refused
 *                        └───── wait, longer each time; nothing is known ◀───┘
 */

import { backoffMs } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import type { Cluster, ClusterEvent } from '../model/cluster.ts';
import { type Kernel, KernelError } from '../nft/kernel.ts';
import type { Op } from '../nft/plan/op.ts';
import { planText } from '../nft/plan/plantext.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { COMMIT_LIMITS, TokenBucket } from './bucket.ts';
import type { Committed } from './connections/liveconnections.ts';
import type { Engine } from './engine.ts';
import { KernelState, type Look } from './kernelstate.ts';
import { NOBODY, type Observer } from './observer.ts';
import { replay } from './replay.ts';
import { isSocketBroken } from './socketbroken.ts';

/** The slice of a structured logger that the agent uses: one line per event. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface AgentOptions {
  /** Opens the kernel: at the start, and whenever its socket is of no use any more. */
  readonly open: () => Promise<Kernel>;
  /** Makes an engine that knows nothing: at the start, and whenever the one in use has broken. */
  readonly engine: () => Engine;
  readonly log: Log;
  /** Told what stands, after every look that found or made it so. Must not wait and not throw. */
  readonly afterCommit?: (committed: Committed) => void;
  readonly observer?: Observer;
  /** How often the kernel is read although nothing happened. */
  readonly resyncIntervalMs?: number;
  /** How long at the start to wait for another owner of the tables: our predecessor may be about to end. */
  readonly patienceMs?: number;
  /** Milliseconds of a clock that never jumps. */
  readonly now?: () => number;
}

/** Why the kernel is compared with what should stand. */
type Cause = 'start' | 'change' | 'look';

const RESYNC_INTERVAL_MS = 30_000;
const PATIENCE_MS = 3_000;
const RETRY = { firstMs: 100, mostMs: 5_000 };
const MOST_NAMES_IN_A_LINE = 5;
/** Which failure in a row casts doubt on the engine, and on the socket. */
const SUSPICIOUS = 2;

export class Agent {
  readonly #options: Required<AgentOptions>;
  readonly #log: Log;
  readonly #standing: KernelState;
  readonly #bucket: TokenBucket;
  readonly #startMs: number;
  /** Names of what has changed since the last flush. */
  readonly #pending = new Set<string>();
  #engine: Engine;
  #wake: () => void = () => {};
  #urgent = false;
  readonly #beUrgent = () => {
    this.#urgent = true;
  };
  /** Ends the wait for the budget: the one under way, or the next. */
  #hurry: () => void = this.#beUrgent;
  #readMs: number;
  #failures = 0;
  /** The engine in use was made anew, and has not proved itself yet. */
  #unproven = false;
  /** Somebody changed our tables since the last commit. */
  #drifted = false;

  constructor(options: AgentOptions) {
    const now = options.now ?? (() => performance.now());
    this.#options = {
      resyncIntervalMs: RESYNC_INTERVAL_MS,
      patienceMs: PATIENCE_MS,
      afterCommit: () => {},
      observer: NOBODY,
      now,
      ...options,
    };
    this.#log = options.log;
    this.#standing = new KernelState({ open: options.open, onDrift: ops => this.#warnOfDrift(ops), now });
    this.#bucket = new TokenBucket(COMMIT_LIMITS, now());
    this.#startMs = this.#readMs = now();
    this.#engine = options.engine();
  }

  /** The cluster as it was told, its latest changes included. */
  get cluster(): Cluster {
    return this.#engine.cluster;
  }

  /**
   * Takes changes of the cluster in; all of one call become part of the same batch. Never waits. Somebody waits for
   * what is urgent: its batch does not wait for its turn in the budget, and later ones wait longer.
   */
  note(events: readonly ClusterEvent[], { urgent = false } = {}): void {
    for (const event of events) {
      this.#engine.note(event);
      this.#pending.add(eventName(event));
    }
    if (events.length === 0) return;
    this.#options.observer.noted(events);
    this.#wake();
    if (urgent) this.#hurry();
  }

  /** Reads the kernel back as soon as possible, and repairs what is wrong. */
  requestResync(): void {
    this.#readMs = Number.NEGATIVE_INFINITY;
    this.#wake();
  }

  /**
   * Follows the noted state until the signal; the rules outlive it. Throws, with the rules that stood in force,
   * KernelError where nftables cannot be used or another agent is at work, and whatever breaks twice in a row
   * although it started from scratch.
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#standing.open();
      for (let cause: Cause = 'start'; !signal.aborted; ) {
        await this.#budget(signal);
        if (signal.aborted) return;
        if (await this.#tryToFollow(cause, signal)) cause = await this.#nextCause(signal);
      }
    } finally {
      this.#standing.close();
    }
  }

  async #budget(signal: AbortSignal): Promise<void> {
    const waitMs = this.#bucket.take(this.#options.now());
    if (waitMs > 0 && !this.#urgent) {
      const waiting = new AbortController();
      this.#hurry = () => waiting.abort();
      await sleep(waitMs, AbortSignal.any([signal, waiting.signal]));
    }
    this.#urgent = false;
    this.#hurry = this.#beUrgent;
  }

  /** Waits until something is pending, or it is time for another look. */
  async #nextCause(signal: AbortSignal): Promise<Cause> {
    if (this.#pending.size > 0) return 'change';
    if (this.#isReadDue(this.#options.now())) return 'look';
    const waiting = new AbortController();
    const wake = () => waiting.abort();
    this.#wake = wake;
    signal.addEventListener('abort', wake);
    await sleep(this.#standing.lookIntervalMs, waiting.signal);
    signal.removeEventListener('abort', wake);
    return this.#pending.size > 0 ? 'change' : 'look';
  }

  async #tryToFollow(cause: Cause, signal: AbortSignal): Promise<boolean> {
    const names = [...this.#pending];
    this.#pending.clear();
    this.#options.observer.following();
    try {
      await this.#follow(cause, names);
      this.#failures = 0;
      this.#unproven = false;
      return true;
    } catch (error) {
      this.#options.observer.failed(error);
      for (const name of names) this.#pending.add(name);
      await sleep(this.#recover(error, cause), signal);
      return false;
    }
  }

  /** Makes the kernel equal to what should stand. */
  async #follow(cause: Cause, names: readonly string[]): Promise<void> {
    const startMs = this.#options.now();
    const look: Look = this.#isReadDue(startMs) ? 'read' : 'believe';
    // Before the read, so that one that is asked for meanwhile is not forgotten.
    if (look === 'read') this.#readMs = startMs;
    let ruleset: Ruleset | undefined;
    const flush = () => {
      ruleset = this.#engine.flush();
      return ruleset;
    };
    const ops = await this.#standing.follow(flush, look);
    if (ops.length === 0) this.#bucket.giveBack();
    if (ruleset !== undefined) this.#tellOf(ruleset, ops);
    const tookMs = this.#options.now() - startMs;
    this.#options.observer.followed({
      cluster: this.#engine.cluster,
      ops,
      names,
      tookMs,
      read: cause === 'start' || look === 'read',
    });
    this.#report(cause, names, ops, tookMs);
  }

  #tellOf(ruleset: Ruleset, ops: readonly Op[]): void {
    const unknownBefore = this.#drifted || this.#failures > 0;
    this.#drifted = false;
    this.#options.afterCommit({ cluster: this.#engine.cluster, ruleset, ops, unknownBefore });
  }

  #isReadDue(nowMs: number): boolean {
    return nowMs - this.#readMs >= this.#options.resyncIntervalMs;
  }

  /** Makes ready for another attempt; answers after how many milliseconds. Throws where there is none. */
  #recover(error: unknown, cause: Cause): number {
    this.#standing.forget();
    this.#failures++;
    if (!(error instanceof KernelError)) return this.#startAnew(error);
    if (cause === 'start' && error.code === 'EPERM') return this.#waitForOwner(error);
    if (isSocketBroken(error) || this.#failures >= SUSPICIOUS) this.#standing.close();
    if (this.#failures === SUSPICIOUS) this.#renewEngine();
    const retryMs = backoffMs(RETRY, this.#failures);
    this.#log.error({ retryMs }, `commit failed, the rules that stood stay in force: ${error.message}`);
    return retryMs;
  }

  /** A broken invariant: what we know may be wrong, so nothing of it is kept but the cluster itself. */
  #startAnew(error: unknown): number {
    if (this.#unproven) throw error;
    this.#unproven = true;
    this.#log.error(
      { error },
      'rules could not be made, those that stood stay in force; starting from scratch',
    );
    this.#renewEngine();
    return 0;
  }

  #waitForOwner(error: KernelError): number {
    if (this.#options.now() - this.#startMs >= this.#options.patienceMs) throw error;
    return RETRY.firstMs;
  }

  #renewEngine(): void {
    const engine = this.#options.engine();
    for (const event of replay(this.#engine.cluster)) engine.note(event);
    this.#engine = engine;
  }

  #warnOfDrift(repair: readonly Op[]): void {
    this.#drifted = true;
    this.#options.observer.drifted(repair);
    const fields = { ops: repair.length, repair: planText(repair) };
    this.#log.warn(fields, 'somebody changed our tables; repairing');
  }

  #report(cause: Cause, names: readonly string[], ops: readonly Op[], tookMs: number): void {
    if (ops.length === 0 && cause === 'look') return;
    const { pods, policies } = this.#engine.cluster;
    const fields = { ops: ops.length, tookMs: Math.round(tookMs), pods: pods.size, policies: policies.size };
    const level = cause === 'change' && ops.length === 0 ? 'debug' : 'info';
    this.#log[level](fields, reportText(cause, names, ops));
  }
}

function reportText(cause: Cause, names: readonly string[], ops: readonly Op[]): string {
  if (cause === 'start') return ops.length === 0 ? 'rules in force: what stood was right' : 'rules in force';
  if (names.length === 0) return 'rules repaired';
  return ops.length === 0 ? `nothing to change for ${namesText(names)}` : `rules follow ${namesText(names)}`;
}

function eventName(event: ClusterEvent): string {
  const noun = { pod: 'Pod ', namespace: 'Namespace ', node: 'Node ', policy: '' }[event.type];
  return `${noun}${event.key}${event.value === undefined ? ' (gone)' : ''}`;
}

function namesText(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES_IN_A_LINE;
  return names.slice(0, MOST_NAMES_IN_A_LINE).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
