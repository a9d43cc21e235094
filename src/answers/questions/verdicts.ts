/** Of many connections that a question means: the verdict that counts, and by what it can be told. */
import { FAMILIES, type Family } from '../../model/address.ts';
import type { Case } from './judge.ts';

export type Verdict = 'allow' | 'deny' | 'undecided';

export type Difference = 'family' | 'source' | 'destination' | 'address';

export function verdictOfCase({ verdict, undecided }: Case): Verdict {
  return undecided === undefined ? verdict.verdict : 'undecided';
}

/** The stricter one of each family. */
export function verdictsByFamily(cases: readonly Case[]): Partial<Record<Family, Verdict>> {
  const found: Partial<Record<Family, Verdict>> = {};
  for (const each of cases) found[each.family] = stricter(found[each.family], verdictOfCase(each));
  return found;
}

/** A denial that is known counts before what nobody can say. */
const STRICTEST: readonly Verdict[] = ['deny', 'undecided', 'allow'];

function stricter(known: Verdict | undefined, other: Verdict): Verdict {
  return STRICTEST.find(each => each === known || each === other)!;
}

/** By what the verdict can be told: whatever two values of it give two verdicts while nothing else changes does not matter. */
export function differencesIn(cases: readonly Case[]): Difference[] {
  const keys: Record<Difference, (each: Case) => unknown> = {
    family: ({ family }) => family,
    source: ({ from }) => from,
    destination: ({ to, viaNode }) => `${to.place.name}:${to.port} ${viaNode ?? ''}`,
    address: ({ fromRange, toRange }) => (fromRange ?? toRange) && `${fromRange?.first} ${toRange?.first}`,
  };
  if (new Set(cases.map(verdictOfCase)).size < 2) return [];
  const { family, ...others } = keys;
  const ofEach = FAMILIES.map(each => cases.filter(({ family }) => family === each));
  return [
    ...(separates(cases, family) ? (['family'] as const) : []),
    ...(Object.keys(others) as (keyof typeof others)[]).filter(difference =>
      ofEach.some(found => separates(found, others[difference])),
    ),
  ];
}

/** Whether the stricter verdict of each value is not the same for all values. */
function separates(cases: readonly Case[], keyOf: (each: Case) => unknown): boolean {
  const strictest = new Map<unknown, Verdict>();
  for (const each of cases) {
    const key = keyOf(each);
    strictest.set(key, stricter(strictest.get(key), verdictOfCase(each)));
  }
  return new Set(strictest.values()).size > 1;
}
