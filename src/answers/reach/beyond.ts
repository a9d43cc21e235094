/**
 * What a matrix and a comparison leave open for callers who may read the policies of the cluster and of some namespaces. A
 * policy of another namespace selects pods there alone, and can only deny what the readable ones allow. So a denial is
 * sure, and what is allowed is undecided where an end is a pod of another namespace.
 */
import { FAMILIES } from '../../model/address.ts';
import type { PodSelector } from '../../model/selector.ts';
import { memberName } from '../../model/workload.ts';
import type { ConnectionPool } from './connections.ts';
import type { Change } from './diff/changes.ts';
import type { Unit, UnitMember } from './diff/units.ts';
import type { Cell } from './places.ts';

/** The namespaces of which all policies are known; undefined where those of all namespaces are. */
export type SureOf = readonly string[] | undefined;

/** The cell between pods of these namespaces; undefined among them stands for any namespace. */
export function cellBetween(
  pool: ConnectionPool,
  sureOf: SureOf,
  cell: Cell,
  namespaces: () => readonly (string | undefined)[],
): Cell {
  if (sureOf === undefined || namespaces().every(each => isSure(sureOf, each))) return cell;
  const perhaps = FAMILIES.flatMap(family => {
    const [known, open = pool.none] = [cell[family], cell.undecided?.[family]];
    return known === undefined ? [] : [[family, pool.or(known, open)] as const];
  });
  const none = Object.fromEntries(perhaps.map(([family]) => [family, pool.none]));
  const undecided = perhaps.filter(([, connections]) => connections !== pool.none);
  return undecided.length === 0 ? none : { ...none, undecided: Object.fromEntries(undecided) };
}

function isSure(sureOf: readonly string[], namespace: string | undefined): boolean {
  return namespace !== undefined && sureOf.includes(namespace);
}

/** `shop` of `Deployment shop/web`. */
export function namespaceOfMember(member: string): string {
  return memberName(member).split('/')[0]!;
}

/** The only namespace in which it selects pods. */
export function namespaceOfSelector({ namespaces }: PodSelector): string | undefined {
  return namespaces.kind === 'name' ? namespaces.name : undefined;
}

/** The change in up to three: what is sure, and what depends on policies that could not be read. */
export function changesBetween(
  change: Change,
  sureOf: readonly string[],
  kinds: readonly { readonly selector: PodSelector }[],
): Change[] {
  if (change.undecided) return [change];
  const isSureMember = (member: UnitMember) => {
    if (member.kind === 'workload') return isSure(sureOf, namespaceOfMember(member.name));
    return member.kind !== 'new' || isSure(sureOf, namespaceOfSelector(kinds[member.index]!.selector));
  };
  const some = (units: readonly Unit[], isWanted: (member: UnitMember) => boolean) =>
    units
      .map(unit => ({ ...unit, members: unit.members.filter(isWanted) }))
      .filter(({ members }) => members.length > 0);
  const isOther = (member: UnitMember) => !isSureMember(member);
  const [from, to] = [some(change.from, isSureMember), some(change.to, isSureMember)];
  const parts: Change[] = [
    { ...change, from, to },
    { ...change, from: some(change.from, isOther), to: change.to, undecided: true },
    { ...change, from, to: some(change.to, isOther), undecided: true },
  ];
  return parts.filter(each => each.from.length > 0 && each.to.length > 0);
}
