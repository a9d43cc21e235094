/** Many changes by workload: how much each one loses and gains. The first default deny of a namespace changes everything. */

import { plural } from '../../../lib/text/plural.ts';
import { memberName } from '../../../model/workload.ts';
import type { ChangeView, DiffView } from './diffview.ts';

/** Fewer changes are read faster than a summary of them. */
const LEAST_CHANGES = 6;
const MOST_WORKLOADS = 20;

export interface WorkloadChanges {
  /** `shop/web`. */
  readonly workload: string;
  /** `loses 3 destinations and 2 sources, gains 1 destination`. */
  readonly text: string;
}

/** Those that change most come first; empty where the changes are few. */
export function changesByWorkload(
  { changes }: Pick<DiffView, 'changes'>,
  most = MOST_WORKLOADS,
): {
  readonly shown: readonly WorkloadChanges[];
  readonly more: number;
} {
  if (changes.length < LEAST_CHANGES) return { shown: [], more: 0 };
  const tallies = new Map<string, Tally>();
  for (const { kind, from, to } of changes) {
    count(tallies, kind, 'destination', from, to);
    count(tallies, kind, 'source', to, from);
  }
  const sorted = [...tallies].sort(([a, x], [b, y]) => sizeOf(y) - sizeOf(x) || (a < b ? -1 : 1));
  return {
    shown: sorted
      .slice(0, most)
      .map(([name, tally]) => ({ workload: memberName(name), text: tallyText(tally) })),
    more: Math.max(0, sorted.length - most),
  };
}

/** The other ends of one workload, each once, however many ports and policies change. */
type Tally = ReadonlyMap<string, Set<string>>;
type OtherEnd = 'destination' | 'source';

function count(
  tallies: Map<string, Tally>,
  kind: ChangeView['kind'],
  other: OtherEnd,
  own: readonly string[],
  others: readonly string[],
): void {
  for (const name of own.filter(isWorkload)) {
    const tally = tallies.get(name) ?? new Map(KEYS.map(key => [key, new Set<string>()]));
    tallies.set(name, tally);
    const ends = tally.get(`${kind} ${other}`)!;
    for (const end of others) ends.add(end);
  }
}

const KEYS = ['closes destination', 'closes source', 'opens destination', 'opens source'] as const;

/** Networks, nodes, names of the DNS and pods that are not there yet have no kind before their name. */
function isWorkload(name: string): boolean {
  return memberName(name) !== name;
}

function sizeOf(tally: Tally): number {
  return [...tally.values()].reduce((sum, { size }) => sum + size, 0);
}

function tallyText(tally: Tally): string {
  const part = (verb: string, kind: ChangeView['kind']) => {
    const counts = (['destination', 'source'] as const).flatMap(other => {
      const { size } = tally.get(`${kind} ${other}`)!;
      return size === 0 ? [] : [plural(size, other)];
    });
    return counts.length === 0 ? [] : [`${verb} ${counts.join(' and ')}`];
  };
  return [...part('loses', 'closes'), ...part('gains', 'opens')].join(', ');
}
