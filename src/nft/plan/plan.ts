/**
 * The difference between the actual and the desired state, as one atomic batch. It first deletes everything that has to
 * go and then adds everything that is missing, so that an object can be created again under its name:
 *
 *     flushChain    a rule counts as a use of the sets and chains that it names
 *     delElements   an element counts as a use of the chain that it jumps to
 *     delSet        its elements are deleted with it
 *     delChain      by now no object uses what is deleted, so the order does not matter
 *     addChain      empty, so that elements and rules can jump to it
 *     addSet
 *     addElements
 *     addRule
 *
 * Packets see the state before the batch or the state after it, and nothing in between. New interval sets are the
 * exception: they are committed earlier, in a batch of their own (docs/decisions/0006).
 */
import { type Pieces, wholeOf } from '../../lib/collections/pieces.ts';
import {
  type Chain,
  type ElementKey,
  type ElementValue,
  type NftRule,
  type NftSet,
  type Ruleset,
  type SetSpec,
  TABLE_FAMILIES,
  type Table,
  type TableFamily,
} from '../ruleset.ts';
import { elementsEqual, hooksEqual, rulesEqual, specsEqual, valuesEqual } from './equal.ts';
import { changedKeys, withChanges } from './history.ts';
import type { Op } from './op.ts';
import { hasRoomFor, sizeOf } from './size.ts';

/**
 * The operations that lead from the actual to the desired state; empty if the two are equal. The cost is linear in the
 * objects that they do not share.
 */
export function plan(actual: Ruleset, desired: Ruleset, since?: Ruleset): Op[] {
  return wholeOf(planInPieces(actual, desired, since));
}

/**
 * Computes the plan in pieces, each of which compares some objects. `since` is the desired state to which the actual
 * state was brought last, if there is one: if the new desired state is a later version of it, only what changed is
 * compared.
 */
export function* planInPieces(actual: Ruleset, desired: Ruleset, since = actual): Pieces<Op[]> {
  const ops: Op[][] = [];
  for (const family of TABLE_FAMILIES) {
    const tables = { actual: actual.tables.get(family), since: since.tables.get(family) };
    ops.push(yield* planTable(family, tables, desired.tables.get(family)));
  }
  return ops.flat();
}

const OBJECTS_OF_A_PIECE = 32;

/**
 * The actual state after `plan(actual, desired, since)` is committed: `desired` with the declared sizes of its sets. A
 * plan from `desired` itself would assume that every set has room enough.
 */
export function applied(actual: Ruleset, desired: Ruleset, since = actual): Ruleset {
  const tables = new Map<TableFamily, Table>();
  for (const [family, { sets, chains }] of desired.tables) {
    const before = actual.tables.get(family)?.sets ?? NOTHING.sets;
    const changes: [string, NftSet | undefined][] = [];
    for (const name of namesToCompare(before, since.tables.get(family)?.sets ?? before, sets)) {
      const set = sets.get(name);
      changes.push([name, set && withRoom(before.get(name), set)]);
    }
    tables.set(family, { sets: withChanges(before, changes), chains });
  }
  return { tables };
}

function withRoom(before: NftSet | undefined, desired: NftSet): NftSet {
  if (before?.elements === desired.elements && specsEqual(before, desired)) return before;
  const { size: _, ...set } = desired;
  if (before === undefined || mustBeRemade(before, desired)) return { ...set, size: sizeOf(desired) };
  return before.size === undefined ? set : { ...set, size: before.size };
}

const NOTHING: Table = { sets: new Map(), chains: new Map() };

interface Tables {
  readonly actual: Table | undefined;
  readonly since: Table | undefined;
}

function* planTable(
  family: TableFamily,
  { actual, since = actual }: Tables,
  desired: Table | undefined,
): Pieces<Op[]> {
  if (actual === desired) return [];
  if (desired === undefined) return [{ op: 'delTable', family }];
  if (actual !== undefined) return yield* planContent(family, actual, desired, since);
  const content = yield* planContent(family, NOTHING, desired);
  return [{ op: 'addTable', family }, ...content];
}

function* planContent(family: TableFamily, actual: Table, desired: Table, since = actual): Pieces<Op[]> {
  const sets: SetDifference = { remove: [], make: [], change: [] };
  const setNames = namesToCompare(actual.sets, since.sets, desired.sets);
  let compared = 0;
  for (const name of setNames) {
    compareSet(actual.sets.get(name), desired.sets.get(name), sets);
    if (++compared % OBJECTS_OF_A_PIECE === 0) yield;
  }
  const chains: ChainDifference = { flush: [], remove: [], make: [], fill: [] };
  const remade = new Set(sets.remove.flatMap(({ name }) => (desired.sets.has(name) ? [name] : [])));
  // A set can be deleted only when no chain uses it, and any chain may use a set that is created again.
  const chainNames = remade.size > 0 ? undefined : changedKeys(actual.chains, desired.chains);
  for (const name of chainNames ?? keysOfEither(actual.chains, desired.chains)) {
    compareChain(actual.chains.get(name), desired.chains.get(name), remade, chains);
    if (++compared % OBJECTS_OF_A_PIECE === 0) yield;
  }
  const elements: ElementOps = { del: [], add: [] };
  for (const change of sets.change) {
    changeElements(family, change, elements);
    yield;
  }
  return [
    ...chains.flush.map(({ name }): Op => ({ op: 'flushChain', family, chain: name })),
    ...elements.del,
    ...sets.remove.map(({ name }): Op => ({ op: 'delSet', family, set: name })),
    ...chains.remove.map(({ name }): Op => ({ op: 'delChain', family, chain: name })),
    ...chains.make.map(chain => addChain(family, chain)),
    ...sets.make.map((set): Op => ({ op: 'addSet', family, set: specOf(set), size: sizeOf(set) })),
    ...sets.make.flatMap(set => allElements(family, set)),
    ...elements.add,
    ...chains.fill.flatMap(({ name, rules }) => rules.map(rule => addRule(family, name, rule))),
  ];
}

/** All names in which the two may differ, if `actual` was brought to `since` last. */
function namesToCompare(
  actual: Table['sets'],
  since: Table['sets'],
  desired: Table['sets'],
): Iterable<string> {
  return changedKeys(since, desired) ?? keysOfEither(actual, desired);
}

function* keysOfEither(
  actual: ReadonlyMap<string, unknown>,
  desired: ReadonlyMap<string, unknown>,
): Generator<string> {
  for (const key of actual.keys()) if (!desired.has(key)) yield key;
  yield* desired.keys();
}

interface SetChange {
  readonly actual: Pick<NftSet, 'elements'>;
  readonly desired: NftSet;
}

interface SetDifference {
  readonly remove: NftSet[];
  readonly make: NftSet[];
  readonly change: SetChange[];
}

function compareSet(
  actual: NftSet | undefined,
  desired: NftSet | undefined,
  { remove, make, change }: SetDifference,
): void {
  if (desired === undefined) {
    if (actual !== undefined) remove.push(actual);
  } else if (actual === undefined) make.push(desired);
  else if (mustBeRemade(actual, desired)) {
    remove.push(actual);
    make.push(desired);
  } else if (!desired.interval && desired.dynamic === undefined && actual.elements !== desired.elements)
    change.push({ actual, desired });
}

function mustBeRemade(actual: NftSet, desired: NftSet): boolean {
  if (actual === desired) return false;
  // Interval sets are replaced as a whole: deleting one interval from a large set takes 22 ms, and needs both ends.
  if (desired.interval && !elementsEqual(actual.elements, desired.elements)) return true;
  return !specsEqual(actual, desired) || !hasRoomFor(actual, desired);
}

interface ChainDifference {
  readonly flush: Chain[];
  readonly remove: Chain[];
  readonly make: Chain[];
  readonly fill: Chain[];
}

function compareChain(
  actual: Chain | undefined,
  desired: Chain | undefined,
  remadeSets: ReadonlySet<string>,
  difference: ChainDifference,
): void {
  const { flush, make, fill } = difference;
  if (desired === undefined) {
    if (actual !== undefined) removeChain(actual, difference);
  } else if (actual === undefined || !hooksEqual(actual, desired)) {
    if (actual !== undefined) removeChain(actual, difference);
    make.push(desired);
    fill.push(desired);
  } else if (!rulesEqual(actual.rules, desired.rules) || usesAny(remadeSets, desired)) {
    if (actual.rules.length > 0) flush.push(actual);
    fill.push(desired);
  }
}

function removeChain(chain: Chain, { flush, remove }: ChainDifference): void {
  if (chain.rules.length > 0) flush.push(chain);
  remove.push(chain);
}

function usesAny(sets: ReadonlySet<string>, { rules }: Chain): boolean {
  return sets.size > 0 && rules.some(({ exprs }) => exprs.some(expr => 'set' in expr && sets.has(expr.set)));
}

function addChain(family: TableFamily, { name, hook }: Chain): Op {
  return hook === undefined
    ? { op: 'addChain', family, chain: name }
    : { op: 'addChain', family, chain: name, hook };
}

function addRule(family: TableFamily, chain: string, rule: NftRule): Op {
  return { op: 'addRule', family, chain, rule };
}

interface ElementOps {
  readonly del: Op[];
  readonly add: Op[];
}

// The kernel ignores an element that exists already, whatever its comment, and refuses one with another verdict
// (EEXIST): such an element is deleted and added again.
function changeElements(family: TableFamily, { actual, desired }: SetChange, { del, add }: ElementOps): void {
  const keys: ElementKey[] = [];
  const elements: [ElementKey, ElementValue][] = [];
  const changed = changedKeys(actual.elements, desired.elements);
  for (const key of changed ?? keysOfEither(actual.elements, desired.elements)) {
    const [before, now] = [actual.elements.get(key), desired.elements.get(key)];
    if (before !== undefined && now !== undefined && valuesEqual(before, now)) continue;
    if (before !== undefined) keys.push(key);
    if (now !== undefined) elements.push([key, now]);
  }
  const set = specOf(desired);
  if (keys.length > 0) del.push({ op: 'delElements', family, set, keys });
  if (elements.length > 0) add.push({ op: 'addElements', family, set, elements });
}

/** All elements of a new set: there may be hundreds of thousands, so this is one pass. */
function allElements(family: TableFamily, set: NftSet): Op[] {
  const elements = [...set.elements];
  return elements.length === 0 ? [] : [{ op: 'addElements', family, set: specOf(set), elements }];
}

function specOf({ name, key, verdicts, data, interval, dynamic, comment }: SetSpec): SetSpec {
  return {
    name,
    key,
    verdicts,
    interval,
    ...(data !== undefined && { data }),
    ...(dynamic !== undefined && { dynamic }),
    ...(comment !== undefined && { comment }),
  };
}
