/**
 * The actual state of the kernel. Dumped once, then carried on from commit to commit, as long as no other process can have
 * changed it: either the generation has not moved since, or the tables are ours alone. Then a neighbour who
 * commits all day costs us two look-ups of microseconds a second, and no dump. From time to time it is verified: dumped
 * again, if we have committed since the last dump.
 *
 *     unknown ──dump──▶ known ──commit──▶ known ──generation moved, tables not ours──▶ dump again
 *        ▲                │
 *        └── forget() ────┘   a commit failed, a socket was lost
 */
import { inSlices } from '../lib/async/eventloopyield.ts';
import { type Generation, type Kernel, KernelError } from '../nft/kernel.ts';
import type { Op } from '../nft/plan/op.ts';
import { applied, plan, planInPieces } from '../nft/plan/plan.ts';
import { stagesOf } from '../nft/plan/stages.ts';
import { type Ruleset, TABLE_FAMILIES } from '../nft/ruleset.ts';
import { denialsFirst } from './denialsfirst.ts';

export interface KernelStateOptions {
  /** Opens the kernel; again when its socket is of no use any more. */
  readonly open: () => Promise<Kernel>;
  /** Called with the operations that repair our tables after another process changed them. */
  readonly onDrift: (repair: readonly Op[]) => void;
  readonly now: () => number;
  /** Waited for before each batch. */
  readonly beforeCommit?: ((ops: readonly Op[]) => Promise<void>) | undefined;
  /** The largest weight of one batch of staged objects. */
  readonly portion?: number | undefined;
}

/**
 * Where the actual state comes from:
 *
 *     known      the cached state, if the tables were ours when we last asked: only the end of our socket changes that
 *     cached     the cached state, if the kernel says that no other process can have changed it
 *     verified   the same, only if we have not written either since it was dumped, because a dump would return the same
 *     dump       always a dump
 */
export type ReadMode = 'known' | 'cached' | 'verified' | 'dump';

/** Makes the desired state when the actual state is known. */
export type Flush = (actual: Ruleset) => Ruleset | Promise<Ruleset>;

export interface Reconciled {
  /** The operations that were needed. */
  readonly ops: readonly Op[];
  /** The programmed rules. */
  readonly desired: Ruleset;
}

interface Known {
  readonly ruleset: Ruleset;
  /** The state that the kernel was reconciled with, if it was. */
  readonly desired?: Ruleset;
  readonly generation: Generation;
  /** Whether the state is from a dump, and not computed from our commits since the last one. */
  readonly verified: boolean;
}

/**
 * The state from which a batch is planned, and the generation for which it holds; no generation if it holds for any.
 */
interface Basis {
  readonly ruleset: Ruleset;
  readonly expected?: Generation;
}

const NOTHING: Ruleset = { tables: new Map() };
const MOST_ATTEMPTS = 10;
const LOOK_INTERVAL_MS = { ours: 1000, shared: 100, most: 5000 };
// Where other processes may write our tables, every change of nftables on the node costs a dump. Dumps take at most one
// part in this many of our time.
const DUMP_SHARE = 20;

export class KernelState {
  readonly #options: KernelStateOptions;
  #kernel: Kernel | undefined;
  #known: Known | undefined;
  #ours = false;
  #dumpMs = 0;
  /** Operations of attempts that were committed in part: observers of commits must get them too. */
  #unreported: Op[] = [];

  constructor(options: KernelStateOptions) {
    this.#options = options;
  }

  /**
   * How long the state need not be verified while nothing happens. If tables belong to us alone, only a lost socket has
   * to be detected.
   */
  get lookIntervalMs(): number {
    if (this.#ours) return LOOK_INTERVAL_MS.ours;
    const { shared, most } = LOOK_INTERVAL_MS;
    return Math.min(Math.max(shared, DUMP_SHARE * this.#dumpMs), most);
  }

  /** Throws KernelError where nftables cannot be used at all. */
  async open(): Promise<Kernel> {
    this.#kernel ??= await this.#options.open();
    return this.#kernel;
  }

  /**
   * Reconciles the actual state with the desired one, which `flush` makes when the actual state is known, in one batch.
   * A packet sees the rules from before it or those from after it. Throws KernelError with the old rules in force.
   */
  async reconcile(flush: Flush, mode: ReadMode): Promise<Reconciled> {
    const kernel = await this.open();
    const reconciled = await this.#commitDifference(kernel, flush, mode);
    if (mode === 'known' && this.#ours) return reconciled;
    const owner = await kernel.owner();
    this.#ours = owner === 'us';
    if (owner !== 'none') return reconciled;
    // Tables without an owner are open to every process, and cannot be adopted.
    const { ops, desired } = reconciled;
    return { ops: [...ops, ...(await this.#remake(kernel, desired))], desired };
  }

  /** Forgets the cached state, because it may be wrong after a failure. */
  forget(): void {
    this.#known = undefined;
  }

  /** Gives the socket up; the next look opens another, which adopts the tables. */
  close(): void {
    this.forget();
    this.#ours = false;
    this.#kernel?.close();
    this.#kernel = undefined;
  }

  async #commitDifference(kernel: Kernel, flush: Flush, mode: ReadMode): Promise<Reconciled> {
    for (let attempt = 1; ; attempt++) {
      const { ruleset, expected } = await this.#basis(kernel, attempt === 1 ? mode : 'cached');
      const desired = await flush(ruleset);
      const since = ruleset === this.#known?.ruleset ? this.#known.desired : undefined;
      const ops = since === desired ? [] : await inSlices(planInPieces(ruleset, desired, since));
      try {
        // Also if nothing differs: the commit adopts tables without an owner.
        const stages = stagesInOrder(ops, ruleset, desired, this.#options.portion);
        const generation = await this.#commitStages(kernel, stages, expected);
        const verified = ops.length === 0 && this.#known?.verified === true;
        const now = since === desired ? ruleset : applied(ruleset, desired, since);
        this.#known = { ruleset: now, desired, generation, verified };
        const committed = this.#unreported;
        this.#unreported = [];
        return { ops: committed, desired };
      } catch (error) {
        if (!isStale(error) || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }

  async #commitStages(
    kernel: Kernel,
    stages: readonly (readonly Op[])[],
    expected?: Generation,
  ): Promise<Generation> {
    let generation: Generation | undefined;
    for (const stage of stages) {
      const isFirst = generation === undefined;
      if (!isFirst) this.forget(); // if it is refused, those before it are in force
      // No other process can change tables that have become ours.
      const isSafe = expected === undefined || (!isFirst && (await kernel.owner()) === 'us');
      generation = await this.#commit(kernel, stage, isSafe ? undefined : (generation ?? expected));
      for (const op of stage) this.#unreported.push(op);
    }
    return generation!;
  }

  async #commit(kernel: Kernel, ops: readonly Op[], expected?: Generation): Promise<Generation> {
    await this.#options.beforeCommit?.(ops);
    return kernel.commit(ops, expected);
  }

  async #basis(kernel: Kernel, mode: ReadMode): Promise<Basis> {
    if (mode === 'known' && this.#ours && this.#known !== undefined) return { ruleset: this.#known.ruleset };
    const cached = await this.#cached(kernel);
    const isEnough =
      mode === 'known' || mode === 'cached' || (mode === 'verified' && this.#known?.verified === true);
    if (cached !== undefined && isEnough) return cached;
    return this.#dump(kernel).catch(error => {
      // Other processes write so often that no dump completes; tables that they cannot change need no dump.
      if (cached !== undefined && isInterrupted(error)) return cached;
      throw error;
    });
  }

  /**
   * The cached state, if no other process can have changed it. Tables that are ours now have been ours since our last
   * commit: they become ours only by a commit, and only closing the socket ends that.
   */
  async #cached(kernel: Kernel): Promise<Basis | undefined> {
    const known = this.#known;
    if (known === undefined) return undefined;
    if ((await kernel.generation()) === known.generation)
      return { ruleset: known.ruleset, expected: known.generation };
    return (await kernel.owner()) === 'us' ? { ruleset: known.ruleset } : undefined;
  }

  async #dump(kernel: Kernel): Promise<Basis> {
    const owner = await kernel.owner();
    if (owner === 'another') throw notOurs();
    this.#ours = owner === 'us';
    const startMs = this.#options.now();
    const known = this.#known?.ruleset;
    const actual = await kernel.dump(known);
    this.#dumpMs = this.#options.now() - startMs;
    const repair = known === undefined ? [] : await inSlices(planInPieces(actual.ruleset, known));
    this.#known = { ...actual, verified: true };
    if (repair.length > 0) this.#options.onDrift(repair);
    return { ruleset: actual.ruleset, expected: actual.generation };
  }

  async #remake(kernel: Kernel, desired: Ruleset): Promise<readonly Op[]> {
    const actual = this.#known!;
    const ops: Op[] = TABLE_FAMILIES.filter(family => actual.ruleset.tables.has(family)).map(family => ({
      op: 'delTable',
      family,
    }));
    ops.push(...plan(NOTHING, desired));
    const generation = await this.#commit(kernel, ops, actual.generation);
    this.#known = { ruleset: applied(NOTHING, desired), generation, verified: false };
    this.#ours = (await kernel.owner()) === 'us';
    return ops;
  }
}

/**
 * The stages of a commit: first chains and sets that nothing in force refers to, then what only denies, then the rest.
 */
function stagesInOrder(ops: readonly Op[], actual: Ruleset, desired: Ruleset, portion?: number) {
  const stages = stagesOf(ops, portion);
  return [...stages.slice(0, -1), ...denialsFirst(stages.at(-1)!, actual, desired)];
}

function isStale(error: unknown): boolean {
  return error instanceof KernelError && error.code === 'ERESTART';
}

function isInterrupted(error: unknown): boolean {
  return error instanceof KernelError && error.code === 'EAGAIN';
}

function notOurs(): KernelError {
  return new KernelError(
    'EPERM',
    'EPERM: the tables ip sluice and ip6 sluice belong to another process: is an agent running in this network namespace already? nothing was changed',
  );
}
