/** The reports of the agents of all nodes, merged in order of time. */

import { sleep } from '../../lib/async/sleep.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { askNodes, type NodesOptions } from './nodes.ts';
import { type NodeReport, reportOf } from './report.ts';

export interface EveryNodeOptions
  extends Pick<NodesOptions, 'agents' | 'only' | 'note' | 'end' | 'listMs' | 'againMs'> {
  /** The command that each is asked by. */
  readonly words: readonly string[];
  readonly follow: boolean;
  /** Since when what is recorded is asked for, in milliseconds since 1970 by the clock of this machine. */
  readonly fromMs?: number;
  readonly print: (report: NodeReport) => Promise<void>;
  /** Called when all that was recorded has been printed. */
  readonly onBegun?: () => Promise<void>;
}

/** Covers differences of clocks and slow connections: reports within this time are put in order. */
const HOLD_MS = 100;
const LOOK_MS = 20;
/** How long to wait until all nodes have sent their recorded reports. */
const START_MS = 5_000;
const MOST_HELD = 50_000;
/** Characters of the agents' output; in memory it takes a few times as much. */
const MOST_HELD_SIZE = 64 << 20;

/** A heartbeat may come before all that is recorded; what happens later comes in less time. */
const LIVE_MS = 5_000;

/** Whether all nodes have sent everything. Throws CommandError where there is no agent, or a right is missing. */
export async function askEveryNode({
  follow,
  fromMs = 0,
  print,
  onBegun,
  ...options
}: EveryNodeOptions): Promise<boolean> {
  const hold = { holdMs: HOLD_MS, most: MOST_HELD, mostSize: MOST_HELD_SIZE };
  const held = new Reorder<NodeReport>(hold, performance.now() + START_MS);
  let lost = 0;
  let isWhole = true;
  const known = new KnownReports();
  const clocks = new NodeClocks(options.note);
  const printAll = async (reports: readonly NodeReport[]) => {
    for (const report of reports) await print(report);
    if (lost === 0) return;
    options.note(`${lost} lines are lost: they came faster than they could be printed`);
    lost = 0;
    isWhole = false;
  };
  let isOver = false;
  const over = askNodes({
    ...options,
    forever: follow,
    take: (node, line, isRecorded) => {
      const report = reportOf(node, line);
      if (report === undefined) return 'said what is no denial and no new connection';
      if (known.has(report)) return undefined;
      const nowMs = Date.now();
      const atMs = clocks.ownMs(node, report.atMs, nowMs);
      if (atMs < fromMs && (isRecorded || nowMs - atMs > LIVE_MS)) return undefined;
      if (!held.add({ ...report, atMs }, performance.now(), line.length)) lost++;
      return undefined;
    },
    onAllFirst: () => held.begin(performance.now()),
  }).finally(() => {
    isOver = true;
  });
  const ended = over.catch(() => undefined);
  let isBegun = false;
  while (!isOver) {
    const nowMs = performance.now();
    await printAll(held.due(nowMs));
    // What came in the start is held for a moment, too.
    if (!isBegun && held.isPastStart(nowMs - 2 * HOLD_MS)) {
      isBegun = true;
      await onBegun?.();
    }
    await Promise.race([sleep(LOOK_MS), ended]);
  }
  await printAll(held.rest());
  return (await over) && isWhole;
}

/** Reports that are remembered for each node, since an agent repeats them when it is asked again. */
const MOST_KNOWN = 4_096;

class KnownReports {
  readonly #keys = new Map<string, Set<string>>();

  /** Whether the report came before; it is remembered from now on. */
  has({ node, key }: NodeReport): boolean {
    if (key === undefined) return false;
    const keys = getOrMake(this.#keys, node, () => new Set());
    if (keys.has(key)) return true;
    keys.add(key);
    if (keys.size > MOST_KNOWN) keys.delete(keys.values().next().value!);
    return false;
  }
}

/**
 * Puts the reports of all nodes into one order of time, although the clock of a node may be ahead. No report can arrive
 * before its event happens, so a clock that says otherwise is ahead by at least the difference, and the reports of its
 * node are put at the time of their arrival. A clock that is behind cannot be detected; its lines only appear late.
 */
export class NodeClocks {
  readonly #note: (text: string) => void;
  /** How far the clock of each node is ahead at least. */
  readonly #aheadMs = new Map<string, number>();
  readonly #noted = new Set<string>();

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** When it happened by our own clock, as far as that is known; `atMs` by the node's, `cameMs` by ours. */
  ownMs(node: string, atMs: number, cameMs: number): number {
    const aheadMs = Math.max(this.#aheadMs.get(node) ?? 0, atMs - cameMs);
    this.#aheadMs.set(node, aheadMs);
    if (aheadMs >= NOTED_MS && !this.#noted.has(node)) {
      this.#noted.add(node);
      this.#note(
        `the clock of node ${node} is ahead of this machine's by ${Math.round(aheadMs / 1_000)} s: its lines have its own time, and the place in which they came`,
      );
    }
    return atMs - aheadMs;
  }
}

/** A smaller difference moves lines within the moment in which they come. */
const NOTED_MS = 2_000;

/**
 * Puts reports of many nodes in order of time: each is held for a moment, in which earlier ones of other nodes may
 * still come. Reports that come later are shown late, with their own time.
 */
export interface Timed {
  readonly atMs: number;
}

export interface ReorderOptions {
  readonly holdMs: number;
  /** The most reports that are held back at once; beyond that the earliest ones are passed on. */
  readonly most: number;
  /** The total size; beyond it too the earliest go without waiting. */
  readonly mostSize: number;
}

interface Held<T> {
  readonly item: T;
  readonly cameMs: number;
  readonly size: number;
}

export class Reorder<T extends Timed> {
  readonly #options: ReorderOptions;
  #held: Held<T>[] = [];
  #size = 0;
  /** Nothing is shown before this time, because at the start all nodes send their recorded reports. */
  #notBeforeMs: number;

  constructor(options: ReorderOptions, notBeforeMs = 0) {
    this.#options = options;
    this.#notBeforeMs = notBeforeMs;
  }

  /** False if twice the limit is held because due items are not taken out: the item is not added. */
  add(item: T, cameMs: number, size: number): boolean {
    const { most, mostSize } = this.#options;
    if (this.#held.length >= 2 * most || this.#size + size > 2 * mostSize) return false;
    this.#held.push({ item, cameMs, size });
    this.#size += size;
    return true;
  }

  /** The start is over. */
  begin(nowMs: number): void {
    this.#notBeforeMs = Math.min(this.#notBeforeMs, nowMs);
  }

  /** Whether the start was over at that time. */
  isPastStart(atMs: number): boolean {
    return atMs >= this.#notBeforeMs;
  }

  /** The lines that need not be held back any longer, the earliest first. */
  due(nowMs: number): T[] {
    const isFull = this.#held.length > this.#options.most || this.#size > this.#options.mostSize;
    if (this.#held.length === 0 || (nowMs < this.#notBeforeMs && !isFull)) return [];
    this.#held.sort((a, b) => a.item.atMs - b.item.atMs);
    // Reports before the last one that is due are due, too, even if they came later.
    let count = this.#beyond();
    this.#held.forEach(({ cameMs }, index) => {
      if (nowMs - cameMs >= this.#options.holdMs) count = Math.max(count, index + 1);
    });
    const due = this.#held.splice(0, count);
    for (const { size } of due) this.#size -= size;
    return due.map(({ item }) => item);
  }

  /** All remaining reports, in the same order. */
  rest(): T[] {
    const rest = this.#held.map(({ item }) => item).sort((a, b) => a.atMs - b.atMs);
    this.#held = [];
    this.#size = 0;
    return rest;
  }

  /** How many of the earliest are more than may be held. */
  #beyond(): number {
    const { most, mostSize } = this.#options;
    let count = Math.max(0, this.#held.length - most);
    let size = this.#size - this.#held.slice(0, count).reduce((sum, held) => sum + held.size, 0);
    while (size > mostSize) size -= this.#held[count++]!.size;
    return count;
  }
}
