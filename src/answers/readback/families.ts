/** A pod's rules in two families as one list: what both have once, what one alone has under its name. */
import { FAMILIES, type Family } from '../../model/address.ts';
import type { Direction } from '../../model/policy.ts';
import type { DirectionInspection, PodInspection, RuleInspection } from './inspection.ts';

/** What was read of one pod, family by family. */
export interface Readings extends Record<Direction, Partial<Record<Family, DirectionInspection>>> {
  readonly addresses: Record<Family, Set<string>>;
}

export function newReadings(): Readings {
  return { addresses: { ip: new Set(), ip6: new Set() }, ingress: {}, egress: {} };
}

export function podInspection([pod, readings]: readonly [string, Readings]): PodInspection {
  const families = FAMILIES.filter(family => readings.addresses[family].size > 0);
  const ingress = merged(readings.ingress, families);
  const egress = merged(readings.egress, families);
  return {
    pod,
    addresses: families.flatMap(family => [...readings.addresses[family]]),
    ...(ingress && { ingress }),
    ...(egress && { egress }),
  };
}

function merged(
  read: Partial<Record<Family, DirectionInspection>>,
  families: readonly Family[],
): DirectionInspection | undefined {
  const { chain } = read.ip ?? read.ip6 ?? {};
  if (chain === undefined) return undefined;
  if (families.length === 1) return read[families[0]!];
  return { chain, rules: inOneOrder(read.ip?.rules ?? OPEN, read.ip6?.rules ?? OPEN) };
}

/** What a family says that has no chain for the direction. */
const OPEN: readonly RuleInspection[] = [{ verdict: 'accept' }];

/** Every rule in the order in which its family asks; a rule is one for both where that breaks neither order. */
function inOneOrder(ip: readonly RuleInspection[], ip6: readonly RuleInspection[]): RuleInspection[] {
  const rules: RuleInspection[] = [];
  const places = Map.groupBy(ip6.keys(), at => JSON.stringify(ip6[at]));
  let next = 0;
  for (const rule of ip) {
    const at = places.get(JSON.stringify(rule))?.find(place => place >= next);
    if (at === undefined) rules.push({ ...rule, family: 'ip' });
    else {
      rules.push(...only('ip6', ip6.slice(next, at)), rule);
      next = at + 1;
    }
  }
  return [...rules, ...only('ip6', ip6.slice(next))];
}

function only(family: Family, rules: readonly RuleInspection[]): RuleInspection[] {
  return rules.map(rule => ({ ...rule, family }));
}
