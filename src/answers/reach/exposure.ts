/** To whom workloads are open, and whom they may reach, beyond what the cluster holds today. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { FAMILIES } from '../../model/address.ts';
import type { Direction } from '../../model/policy.ts';
import type { PodSelector } from '../../model/selector.ts';
import { type Cell, cellOf } from './cells.ts';
import type { Ends, Member, ReachPlace } from './place.ts';
import type { Reach } from './reach.ts';
import { ANYBODY, type Representative } from './representatives.ts';

export interface Exposure {
  /** `ingress`: the members are open to those pods. `egress`: they may reach them. */
  readonly direction: Direction;
  readonly members: readonly Member[];
  /** Pods that are not there. */
  readonly whom: PodSelector;
  readonly cell: Cell;
}

/** Each representative with its place; the first one is anybody. Those that get no more than anybody are left out. */
export function exposuresOf(
  reach: Reach,
  places: readonly ReachPlace[],
  representatives: readonly (readonly [Representative, ReachPlace])[],
): Exposure[] {
  const found = new Map<string, Exposure & { members: Member[] }>();
  for (const direction of ['ingress', 'egress'] as const)
    for (const { ends, members } of places) {
      const cells = representatives.map(([, other]) => cellOfDirection(reach, direction, ends, other.ends));
      for (const [i, cell] of cells.entries()) {
        if (i === 0 ? isNone(reach, cell) : isWithin(reach, cell, cells[0]!)) continue;
        const key = `${direction}/${i}/${cell.ip?.id}/${cell.ip6?.id}`;
        const whom = representatives[i]![0].selector;
        getOrMake(found, key, () => ({ direction, members: [], whom, cell })).members.push(...members);
      }
    }
  return [...found.values()];
}

export function isAnybody(selector: PodSelector): boolean {
  return selector === ANYBODY;
}

function cellOfDirection(reach: Reach, direction: Direction, own: Ends, other: Ends): Cell {
  return direction === 'ingress' ? cellOf(reach, other, own) : cellOf(reach, own, other);
}

export function isNone({ pool }: Reach, cell: Cell): boolean {
  return FAMILIES.every(family => cell[family] === undefined || cell[family] === pool.none);
}

function isWithin({ pool }: Reach, cell: Cell, wider: Cell): boolean {
  return FAMILIES.every(family => {
    const connections = cell[family];
    return connections === undefined || pool.minus(connections, wider[family] ?? pool.none) === pool.none;
  });
}
