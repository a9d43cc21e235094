/**
 * The first of each group, then the second of each, and so on, until there are `most`, so that a large group does not
 * hide a small one. Groups come in their order; `rank` sorts the items of a turn that does not fit as a whole.
 */
export function firstOfEach<T>(
  groups: readonly (readonly T[])[],
  most: number,
  rank: (each: T) => number = () => 0,
): T[] {
  const chosen: T[] = [];
  for (let turn = 0; chosen.length < most; turn++) {
    const here = groups.flatMap(group => group.slice(turn, turn + 1));
    if (here.length === 0) break;
    chosen.push(...here.toSorted((a, b) => rank(a) - rank(b)).slice(0, most - chosen.length));
  }
  return chosen;
}
