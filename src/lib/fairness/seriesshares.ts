/**
 * Which policies have series of their own where there are too many for all: as many of each namespace as of every other
 * that has more, so that who has most loses first. Of a namespace those that have one keep it, then the names in order:
 * after a restart it is the same policies, as long as none came or went between.
 */

/** As rules name them: `shop/web`, `cnp:guard`. */
export function sharedByNamespace(
  policies: ReadonlySet<string>,
  holders: ReadonlySet<string>,
  most: number,
): ReadonlySet<string> {
  if (policies.size <= most) return policies;
  const ranked = [...policies].sort((a, b) => rankOf(a, holders) - rankOf(b, holders) || (a < b ? -1 : 1));
  const groups = [...Map.groupBy(ranked, namespaceOfLabel)].sort(([a], [b]) => (a < b ? -1 : 1));
  const chosen = new Set<string>();
  // The first of each namespace, then the second of each, and so on.
  for (let place = 0; chosen.size < most; place++)
    for (const policy of atPlace(groups, place, holders).slice(0, most - chosen.size)) chosen.add(policy);
  return chosen;
}

/** Who has a series keeps it where there is no room for all of a place. */
function atPlace(
  groups: readonly (readonly [string, readonly string[]])[],
  place: number,
  holders: ReadonlySet<string>,
): readonly string[] {
  const here = groups.flatMap(([, group]) => group.slice(place, place + 1));
  return here.toSorted((a, b) => rankOf(a, holders) - rankOf(b, holders));
}

function rankOf(policy: string, holders: ReadonlySet<string>): number {
  return holders.has(policy) ? 0 : 1;
}

/** Empty for policies of the whole cluster. */
export function namespaceOfLabel(policy: string): string {
  return policy.includes(':') ? '' : policy.slice(0, Math.max(0, policy.indexOf('/')));
}
