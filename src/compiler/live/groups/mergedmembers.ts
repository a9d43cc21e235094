/**
 * How many members the sets of classes have that merge several peers. Every change asks this of all classes, so counts
 * are kept.
 */
import type { Builder } from '../../builder.ts';
import type { NamedGroup } from '../../group.ts';
import type { ClassBuilder } from '../../parts.ts';
import type { LiveGroups } from './groups.ts';

/** A count is reused until the members of all groups have changed so many times. */
const TOLERATED = 1_000;

interface Counted {
  readonly members: number;
  /** The number of changes at which it was counted. */
  readonly changes: number;
}

export class MergedMembers {
  readonly #groups: LiveGroups;
  /** The parts' own counts: many classes share a part, and it stays when a class is built again. */
  readonly #own = new WeakMap<Builder, Counted>();
  readonly #ofClasses = new WeakMap<Builder, Counted>();

  constructor(groups: LiveGroups) {
    this.#groups = groups;
  }

  /** The merged members of a class in a family, its parts included. */
  count(builder: ClassBuilder): number {
    return this.#known(this.#ofClasses, builder, () => {
      let members = this.#countOwn(builder);
      for (const { made } of builder.shared) members += this.#countOwn(made);
      return members;
    });
  }

  #countOwn(builder: Builder): number {
    return this.#known(this.#own, builder, () => {
      const merged = [...builder.groups.values()].filter(isMerged);
      return merged.reduce((sum, group) => sum + this.#groups.sizeOf(group, builder.family), 0);
    });
  }

  #known(counted: WeakMap<Builder, Counted>, builder: Builder, count: () => number): number {
    const known = counted.get(builder);
    const { changes } = this.#groups;
    if (known !== undefined && changes - known.changes <= TOLERATED) return known.members;
    const members = count();
    counted.set(builder, { members, changes });
    return members;
  }
}

/** Whether the group merges the peers of several policies. */
function isMerged({ group }: NamedGroup): boolean {
  return group.kind === 'peers' ? group.peers.length > 1 : group.kind !== 'names';
}
