import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Connection } from '../../nft/conntrack.ts';
import { DeniedConnections } from './deniedconnections.ts';

const [a, b, c] = ['10.0.0.1', '10.0.0.2', '10.0.0.3'] as readonly string[] as readonly [
  Address,
  Address,
  Address,
];

/** Those that are kept of a sequence, by pod. */
function kept(most: number, pods: readonly Address[]) {
  const denied = new DeniedConnections(most);
  for (const from of pods)
    if (denied.hasRoomFor(from)) denied.add(from, { flow: { from } } as unknown as Connection);
  const counts = new Map<Address, number>();
  for (const { flow } of denied.all) counts.set(flow.from, (counts.get(flow.from) ?? 0) + 1);
  return { counts: Object.fromEntries(counts), isPartial: denied.isPartial };
}

const times = (count: number, pod: Address) => Array.from({ length: count }, () => pod);

test.each([
  ['all while there is room', 4, [a, b, a, b], { [a]: 2, [b]: 2 }, false],
  ['no more than there is room for', 4, times(9, a), { [a]: 4 }, true],
  ['and says that one had to give way', 4, [...times(4, a), b], { [a]: 3, [b]: 1 }, true],
  ['of who comes late and has few, all', 6, [...times(90, a), b, c, b], { [a]: 3, [b]: 2, [c]: 1 }, true],
  ['the same of each of two that have many', 6, [...times(90, a), ...times(90, b)], { [a]: 3, [b]: 3 }, true],
  ['who has few loses none to who has many', 6, [b, c, ...times(90, a)], { [b]: 1, [c]: 1, [a]: 4 }, true],
])('DeniedConnections keeps %s', (_, most, pods, counts, isPartial) => {
  expect(kept(most, pods)).toEqual({ counts, isPartial });
});
