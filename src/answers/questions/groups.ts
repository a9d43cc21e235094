/** Cases of which the same is to be said, together: two families, a thousand addresses. */
import type { Address, AddressRange, Family } from '../../model/address.ts';
import { decisiveDirection, reasonOf } from './answer.ts';
import type { Case } from './judge.ts';
import { rangesText } from './ranges.ts';
import { type Verdict, verdictOfCase } from './verdicts.ts';

export interface CaseGroup {
  readonly from: string;
  readonly to: string;
  readonly port?: number;
  readonly viaNode?: Address;
  readonly verdict: Verdict;
  readonly families: readonly Family[];
  /** Of those whose address is not known: for which ones this holds. */
  readonly addresses?: string;
  readonly reason: string;
}

/** Denials first, then what nobody can say. */
export function groupsOf(cases: readonly Case[]): readonly CaseGroup[] {
  const groups = new Map<string, Case[]>();
  for (const each of cases) {
    const { from, to, viaNode, verdict } = each;
    const { policy, rule } = decisiveDirection(verdict);
    const key = JSON.stringify([
      from.name,
      to.place.name,
      to.port,
      viaNode,
      verdictOfCase(each),
      policy,
      rule,
    ]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [each]);
    else group.push(each);
  }
  const found = [...groups.values()].map(groupOf);
  return [
    ...found.filter(({ verdict }) => verdict === 'deny'),
    ...found.filter(({ verdict }) => verdict === 'undecided'),
    ...found.filter(({ verdict }) => verdict === 'allow'),
  ];
}

function groupOf(cases: readonly Case[]): CaseGroup {
  const { from, to, viaNode } = cases[0]!;
  const ranges = cases.flatMap(({ fromRange, toRange }) => fromRange ?? toRange ?? []);
  return {
    from: from.name,
    to: to.place.name,
    ...(to.port !== undefined && { port: to.port }),
    ...(viaNode && { viaNode }),
    verdict: verdictOfCase(cases[0]!),
    families: [...new Set(cases.map(({ family }) => family))],
    ...(ranges.length > 0 && { addresses: rangesText(distinct(ranges)) }),
    reason: reasonOf(cases[0]!),
  };
}

function distinct(ranges: readonly AddressRange[]): readonly AddressRange[] {
  return [...new Map(ranges.map(range => [`${range.family} ${range.first}`, range])).values()];
}
