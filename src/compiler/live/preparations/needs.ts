/** The groups that classes need which are made and in no table yet. */
import type { Family } from '../../../model/address.ts';
import type { Builder } from '../../builder.ts';
import type { NamedGroup } from '../../group.ts';
import type { ClassBuilder } from '../../parts.ts';

/** A group in the tables that will name it. */
export interface Need {
  readonly group: NamedGroup;
  readonly families: readonly Family[];
}

/** Each once. */
export function needsOf(builders: readonly ClassBuilder[]): Need[] {
  // A part is many classes'.
  const distinct = new Set<Builder>(
    builders.flatMap(builder => [builder, ...[...builder.shared].map(({ made }) => made)]),
  );
  const uses = [...distinct].flatMap(({ family, groups }) =>
    [...groups.values()].map(group => ({ group, family })),
  );
  const ofPods = uses.filter(({ group }) => group.group.kind !== 'names'); // answers fill those
  const byName = Map.groupBy(ofPods, ({ group }) => group.name).values();
  return [...byName].map(its => ({
    group: its[0]!.group,
    families: [...new Set(its.map(({ family }) => family))],
  }));
}
