/** The connections that open and close between two clusters, and which policies decide about them before and after. */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import { FAMILIES, type Family } from '../../../model/address.ts';
import type { Direction } from '../../../model/policy.ts';
import { type DecidedConnections, type Decision, UNDECIDED } from '../cases.ts';
import type { ConnectionPool, Connections } from '../connections.ts';
import type { DomainMember, Ends } from '../places.ts';
import type { Reach } from '../reach.ts';
import { between, differencesOf } from './differences.ts';
import { domainUnits, newUnitsOf, type Side, twinsOf, type Unit, unitsOf } from './units.ts';

export interface Change {
  readonly kind: 'opens' | 'closes';
  readonly from: readonly Unit[];
  readonly to: readonly Unit[];
  readonly families: readonly Family[];
  readonly connections: Connections;
  /** The policies that decided before and that decide after; empty if none does. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Whether this depends on labels or addresses that are not known. */
  readonly undecided?: true;
}

/** The part of a change that is the same for all its pairs of units. */
type What = Omit<Change, 'from' | 'to'>;

/** The changes with an end that `isAsked` accepts. */
export function changesOf(old: Side, now: Side, isAsked: (unit: Unit) => boolean = () => true): Change[] {
  const units = [...unitsOf(old, now), ...newUnitsOf(old, now)];
  const destinations = [...units, ...domainUnits(old, now)];
  const pool = now.reach.pool;
  const found = new Map<string, { what: What; rows: Map<Unit, Unit[]> }>();
  const canBe = ({ members: [first] }: Unit) => first!.kind !== 'new' || now.possible.has(first!.index);
  const isMeant = (from: Unit, to: Unit) =>
    isJudged(from, to) &&
    (isAsked(from) || isAsked(to)) &&
    mayResolve(old, now, from, to) &&
    canBe(from) &&
    canBe(to);
  const differing = differencesOf(old, now, units, destinations, isMeant);
  const isImplied = impliedBy(old, now, units, differing);
  for (const [i, row] of differing.entries())
    for (const [j, difference] of row) {
      if (isImplied(i, j, difference)) continue;
      const [from, to] = [units[i]!, destinations[j]!];
      for (const what of whatChanges(pool, old, now, from, to)) {
        const { rows } = getOrMake(found, textOf(what), () => ({ what, rows: new Map<Unit, Unit[]>() }));
        getOrMake(rows, from, () => []).push(to);
      }
    }
  return changesIn(found.values());
}

/**
 * Whether the same change is found for others that stand for these pods, too: for a wider kind of pods that are not there
 * yet, or for a workload whose pods have the labels of the kind.
 */
function impliedBy(
  old: Side,
  now: Side,
  units: readonly Unit[],
  differing: readonly ReadonlyMap<number, string>[],
) {
  const { kinds } = now.newPods;
  const start = units.length - kinds.length;
  const twinsOfKind = twinsOf(old, now, units.slice(0, start));
  const others = new Map<number, readonly number[]>();
  const standingFor = (unit: number) => {
    if (unit < start || unit >= units.length) return [];
    const kind = unit - start;
    return getOrMake(others, kind, () => [
      ...kinds[kind]!.wider.map(each => each + start),
      ...twinsOfKind(kind),
    ]);
  };
  return (i: number, j: number, difference: string): boolean =>
    standingFor(i).some(other => differing[other]!.get(j) === difference) ||
    standingFor(j).some(other => differing[i]!.get(other) === difference);
}

function isJudged(from: Unit, to: Unit): boolean {
  return isOfPods(from) || isOfPods(to);
}

function isOfPods({ members: [first] }: Unit): boolean {
  return first!.kind === 'workload' || first!.kind === 'new';
}

/** A pod without a rule by such a name, before and after, has no addresses by it. */
function mayResolve(old: Side, now: Side, from: Unit, to: Unit): boolean {
  return to.members.every(
    member =>
      member.kind !== 'domain' ||
      hasRuleByName(old, from.old, member) ||
      hasRuleByName(now, from.now, member),
  );
}

function hasRuleByName({ reach }: Side, ends: readonly Ends[], { nameClass }: DomainMember): boolean {
  return FAMILIES.some(family =>
    ends.some(
      each => each[family] !== undefined && reach.families[family].mayResolve(each[family], nameClass),
    ),
  );
}

/**
 * The changes of several worlds: those that all of them have, and as undecided the others. Each pair of members is
 * compared by itself, since worlds may group them otherwise.
 */
export function changesInAll(
  worlds: readonly (readonly Change[])[],
  sides: readonly (readonly [Side, Side])[],
): Change[] {
  if (worlds.length === 1) return [...worlds[0]!];
  const found = new Map<string, { what: What; from: Unit; to: Unit; count: number }>();
  const units = new Map<string, Unit>();
  const unitOf = (member: Unit['members'][number]) =>
    getOrMake(units, JSON.stringify(member), () => ({ old: [], now: [], members: [member] }));
  for (const changes of worlds)
    for (const { from, to, ...what } of changes)
      for (const source of from.flatMap(({ members }) => members))
        for (const destination of to.flatMap(({ members }) => members)) {
          const key = JSON.stringify([textOf(what), source, destination]);
          const pair = { what, from: unitOf(source), to: unitOf(destination), count: 0 };
          getOrMake(found, key, () => pair).count++;
        }
  const grouped = new Map<string, { what: What; rows: Map<Unit, Unit[]> }>();
  for (const { what, from, to, count } of found.values()) {
    const isSure = count === worldsWith(sides, from, to);
    const whole: What = isSure ? what : { ...what, undecided: true };
    const { rows } = getOrMake(grouped, `${textOf(what)} ${isSure}`, () => ({
      what: whole,
      rows: new Map<Unit, Unit[]>(),
    }));
    getOrMake(rows, from, () => []).push(to);
  }
  return changesIn(grouped.values());
}

/** In how many worlds there can be both: pods that are not there yet have the labels of their namespace. */
function worldsWith(sides: readonly (readonly [Side, Side])[], ...units: readonly Unit[]): number {
  const members = units.flatMap(unit => unit.members);
  return sides.filter(([, { possible }]) =>
    members.every(member => member.kind !== 'new' || possible.has(member.index)),
  ).length;
}

function changesIn(found: Iterable<{ what: What; rows: ReadonlyMap<Unit, readonly Unit[]> }>): Change[] {
  return [...found].flatMap(({ what, rows }) =>
    rectangles(rows)
      .flatMap(withoutItself)
      .map(ends => ({ ...what, ...ends })),
  );
}

interface ChangedEnds {
  readonly from: readonly Unit[];
  readonly to: readonly Unit[];
}

/**
 * A pod always reaches itself, so a pod that no controller made is not listed with itself. Among several sources and
 * destinations it stays: their list says the same in fewer lines.
 */
function withoutItself({ from, to }: ChangedEnds): ChangedEnds[] {
  const other = (units: readonly Unit[], [only, ...more]: readonly Unit[]) =>
    more.length > 0 || !isOnePod(only!) ? units : units.filter(unit => unit !== only);
  const ends = { from: other(from, to), to: other(to, from) };
  return ends.from.length === 0 || ends.to.length === 0 ? [] : [ends];
}

function isOnePod({ members: [first, ...others] }: Unit): boolean {
  return others.length === 0 && first!.kind === 'workload' && first!.name.startsWith('Pod ');
}

/** Groups the sources that have the same destinations. */
function rectangles(rows: ReadonlyMap<Unit, readonly Unit[]>): ChangedEnds[] {
  const numbers = new Map<Unit, number>();
  const found = new Map<string, { from: Unit[]; to: readonly Unit[] }>();
  for (const [from, to] of rows) {
    const key = to.map(unit => getOrMake(numbers, unit, () => numbers.size)).join();
    getOrMake(found, key, () => ({ from: [], to })).from.push(from);
  }
  return [...found.values()];
}

function textOf({ kind, families, connections, before, after }: What): string {
  return JSON.stringify([kind, families, connections.id, before, after]);
}

function whatChanges(pool: ConnectionPool, old: Side, now: Side, from: Unit, to: Unit): What[] {
  const perFamily = FAMILIES.flatMap(family => familyChanges(pool, old, now, from, to, family));
  const joined = new Map<string, What>();
  for (const what of perFamily) {
    const key = textOf({ ...what, families: [] });
    const known = joined.get(key);
    joined.set(
      key,
      known === undefined ? what : { ...known, families: [...known.families, ...what.families] },
    );
  }
  return [...joined.values()];
}

function familyChanges(
  pool: ConnectionPool,
  old: Side,
  now: Side,
  from: Unit,
  to: Unit,
  family: Family,
): What[] {
  const was = between(old.reach, family, from.old, to.old);
  const is = between(now.reach, family, from.now, to.now);
  if (was === is) return [];
  const segments = (kind: What['kind'], connections: Connections) =>
    connections === pool.none ? [] : segmentsOf(kind, connections, [old, now], from, to, family);
  return [...segments('opens', pool.minus(is, was)), ...segments('closes', pool.minus(was, is))];
}

function segmentsOf(
  kind: What['kind'],
  connections: Connections,
  [old, now]: readonly [Side, Side],
  from: Unit,
  to: Unit,
  family: Family,
): What[] {
  const verdicts = kind === 'opens' ? (['deny', 'allow'] as const) : (['allow', 'deny'] as const);
  const before = deciding(old.reach, family, from.old, to.old, connections, verdicts[0]);
  return before.flatMap(was =>
    deciding(now.reach, family, from.now, to.now, was.connections, verdicts[1]).map(is => ({
      kind,
      families: [family],
      connections: is.connections,
      before: was.by,
      after: is.by,
    })),
  );
}

/**
 * The policies that decide, taken for each connection from the first pair of ends that has it; empty if no pair has it.
 */
function deciding(
  reach: Reach,
  family: Family,
  from: readonly Ends[],
  to: readonly Ends[],
  connections: Connections,
  verdict: 'allow' | 'deny',
): { readonly connections: Connections; readonly by: readonly string[] }[] {
  const { pool } = reach;
  const found = new Map<string, { connections: Connections; by: readonly string[] }>();
  let rest = connections;
  for (const source of from)
    for (const destination of to) {
      const [a, b] = [source[family], destination[family]];
      if (a === undefined || b === undefined) continue;
      for (const part of decidersOf(reach, family, a, b, rest)) {
        if (part.verdict !== verdict) continue;
        const known = getOrMake(found, String(part.by), () => ({ connections: pool.none, by: part.by }));
        known.connections = pool.or(known.connections, part.connections);
        rest = pool.minus(rest, part.connections);
      }
    }
  return rest === pool.none ? [...found.values()] : [...found.values(), { connections: rest, by: [] }];
}

/** The policies that decide about connections between two ends, on one side of a comparison. */
interface Decided {
  readonly connections: Connections;
  readonly verdict: 'allow' | 'deny';
  /**
   * `NetworkPolicy shop/db ingress[0]`, `NetworkPolicy shop/db (no ingress rule)`: those that deny, else those that
   * allow; none where no policy does.
   */
  readonly by: readonly string[];
}

/** The connections, split by the policies that decide about them. */
function decidersOf(
  { pool, families }: Reach,
  family: Family,
  from: number,
  to: number,
  connections: Connections,
): Decided[] {
  const reach = families[family];
  const egress = partsWithin(reach.decisions('egress', from, to), connections);
  return egress.flatMap(out =>
    partsWithin(reach.decisions('ingress', to, from), out.connections).map(into =>
      decided(into.connections, { egress: out.decision, ingress: into.decision }),
    ),
  );

  function partsWithin(
    parts: readonly DecidedConnections[] | undefined,
    within: Connections,
  ): DecidedConnections[] {
    if (parts === undefined) return [{ connections: within, decision: UNDECIDED }];
    return parts.flatMap(({ connections: own, decision }) => {
      const both = pool.and(own, within);
      return both === pool.none ? [] : [{ connections: both, decision }];
    });
  }
}

function decided(connections: Connections, by: Record<Direction, Decision>): Decided {
  const directions = ['egress', 'ingress'] as const;
  const verdict = directions.some(direction => by[direction].verdict === 'deny') ? 'deny' : 'allow';
  const deciding = directions.filter(direction => by[direction].verdict === verdict);
  return { connections, verdict, by: deciding.flatMap(direction => decisionText(direction, by[direction])) };
}

function decisionText(direction: Direction, { policies, rule }: Decision): string[] {
  const [first, ...others] = policies;
  if (first === undefined) return [];
  if (rule !== undefined) return [`${first} ${rule}`];
  const names = others.length === 0 ? first : policies.map(policy => policy.split(' ')[1]).join(', ');
  return [`${others.length === 0 ? '' : 'NetworkPolicies '}${names} (no ${direction} rule)`];
}
