/**
 * The first of each group, then the second of each, and so on, until there are `most`: nobody's many hide another's few.
 * Groups come in their order; `rank` says who comes first of a turn that has no room for all.
 */
export function firstOfEach<T>(
  groups: readonly (readonly T[])[],
  most: number,
  rank: (each: T) => number = () => 0,
): T[] {
  const chosen: T[] = [];
  const turns = Math.max(0, ...groups.map(({ length }) => length));
  for (let turn = 0; turn < turns && chosen.length < most; turn++) {
    const here = groups.flatMap(group => group.slice(turn, turn + 1));
    chosen.push(...here.toSorted((a, b) => rank(a) - rank(b)).slice(0, most - chosen.length));
  }
  return chosen;
}
