/** What the agents of all nodes tell of one by one, in one order of time. */

import { sleep } from '../../lib/async/sleep.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { NodeClocks } from './nodeclocks.ts';
import { askNodes, type NodesOptions } from './nodes.ts';
import { Reorder } from './reorder.ts';
import { type NodeReport, reportOf } from './report.ts';

export interface EveryNodeOptions
  extends Pick<NodesOptions, 'agents' | 'note' | 'end' | 'listMs' | 'againMs'> {
  /** The command that each is asked by. */
  readonly words: readonly string[];
  readonly follow: boolean;
  readonly print: (report: NodeReport) => Promise<void>;
}

/** A machine's clock, a slow connection: what comes within it is in order. */
const HOLD_MS = 100;
const LOOK_MS = 20;
/** Until all have told what they have recorded. */
const START_MS = 5_000;
const MOST_HELD = 50_000;
/** In characters of what the agents said; what is made of them takes a few times as much. */
const MOST_HELD_SIZE = 64 << 20;

/** Whether all nodes have told all. Throws CommandError where there is no agent, or a right is missing. */
export async function askEveryNode({ follow, print, ...options }: EveryNodeOptions): Promise<boolean> {
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
    take: (node, line) => {
      const report = reportOf(node, line);
      if (report === undefined) return 'said what is no denial and no new connection';
      if (known.has(report)) return undefined;
      const atMs = clocks.ownMs(node, report.atMs, Date.now());
      if (!held.add({ ...report, atMs }, performance.now(), line.length)) lost++;
      return undefined;
    },
    onAllFirst: () => held.begin(),
  }).finally(() => {
    isOver = true;
  });
  const ended = over.catch(() => undefined);
  while (!isOver) {
    await printAll(held.due(performance.now()));
    await Promise.race([sleep(LOOK_MS), ended]);
  }
  await printAll(held.rest());
  return (await over) && isWhole;
}

/** Of each node, things that an agent would tell again when it is asked again. */
const MOST_KNOWN = 4_096;

class KnownReports {
  readonly #keys = new Map<string, Set<string>>();

  /** Whether it was told before; if not, it has been now. */
  has({ node, key }: NodeReport): boolean {
    if (key === undefined) return false;
    const keys = getOrMake(this.#keys, node, () => new Set());
    if (keys.has(key)) return true;
    keys.add(key);
    if (keys.size > MOST_KNOWN) keys.delete(keys.values().next().value!);
    return false;
  }
}
