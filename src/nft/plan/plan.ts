/**
 * The difference between the actual and the desired state, as one atomic batch. First everything is taken away
 * that has to go, then everything is put up that is missing, so that an object can be made anew under its name:
 *
 *     flushChain   a rule counts as a use of the sets and chains that it names
 *     delElements  an element counts as a use of the chain that it jumps to
 *     delSet       its elements go with it
 *     delChain     by now nothing uses what is deleted, in whatever order
 *     addChain     empty, so that elements and rules can jump to it
 *     addSet
 *     addElements
 *     addRule
 *
 * Packets see the state before the batch or the state after it, nothing in between; new interval sets are the
 * exception, and go ahead in a batch of their own (docs/decisions/0006).
 */
import { inPieces, type Pieces, wholeOf } from '../../lib/collections/pieces.ts';
import { mapTables } from '../maptables.ts';
import {
  type Chain,
  type ElementKey,
  type Elements,
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
import { changedKeys } from './history.ts';
import type { Op } from './op.ts';
import { hasRoomFor, sizeOf } from './size.ts';

/** Empty where nothing differs. Linear in what is not the same object on both sides. */
export function plan(actual: Ruleset, desired: Ruleset): Op[] {
  return wholeOf(planning(actual, desired));
}

/** The same in pieces: in each of them some objects are compared. */
export function* planning(actual: Ruleset, desired: Ruleset): Pieces<Op[]> {
  const ops: Op[][] = [];
  for (const family of TABLE_FAMILIES)
    ops.push(yield* planTable(family, actual.tables.get(family), desired.tables.get(family)));
  return ops.flat();
}

const OBJECTS_OF_A_PIECE = 32;

/**
 * The actual state once `plan(actual, desired)` is in force: `desired`, and the room that its sets have. To plan from
 * `desired` itself is to guess that every set has room enough.
 */
export function applied(actual: Ruleset, desired: Ruleset): Ruleset {
  return mapTables(desired, (table, family) => {
    const before = actual.tables.get(family)?.sets;
    const sets = new Map<string, NftSet>();
    for (const [name, set] of table.sets) sets.set(name, withRoom(before?.get(name), set));
    return { sets, chains: table.chains };
  });
}

function withRoom(before: NftSet | undefined, desired: NftSet): NftSet {
  if (before?.elements === desired.elements && specsEqual(before, desired)) return before;
  const { size: _, ...set } = desired;
  if (before === undefined || mustBeRemade(before, desired)) return { ...set, size: sizeOf(desired) };
  return before.size === undefined ? set : { ...set, size: before.size };
}

const NOTHING: Table = { sets: new Map(), chains: new Map() };

function* planTable(
  family: TableFamily,
  actual: Table | undefined,
  desired: Table | undefined,
): Pieces<Op[]> {
  if (actual === desired) return [];
  if (desired === undefined) return [{ op: 'delTable', family }];
  if (actual !== undefined) return yield* planContent(family, actual, desired);
  const content = yield* planContent(family, NOTHING, desired);
  return [{ op: 'addTable', family }, ...content];
}

function* planContent(family: TableFamily, actual: Table, desired: Table): Pieces<Op[]> {
  const sets = yield* compareSets(actual.sets, desired.sets);
  const removed = new Set(sets.remove.map(({ name }) => name));
  const chains = yield* compareChains(actual.chains, desired.chains, removed);
  const changes: ReturnType<typeof changeElements>[] = [];
  for (const change of sets.change) {
    changes.push(changeElements(family, change));
    yield;
  }
  return [
    ...chains.flush.map(({ name }): Op => ({ op: 'flushChain', family, chain: name })),
    ...changes.flatMap(({ del }) => del),
    ...sets.remove.map(({ name }): Op => ({ op: 'delSet', family, set: name })),
    ...chains.remove.map(({ name }): Op => ({ op: 'delChain', family, chain: name })),
    ...chains.make.map(chain => addChain(family, chain)),
    ...sets.make.map((set): Op => ({ op: 'addSet', family, set: specOf(set), size: sizeOf(set) })),
    ...sets.make.flatMap(set => allElements(family, set)),
    ...changes.flatMap(({ add }) => add),
    ...chains.fill.flatMap(({ name, rules }) => rules.map(rule => addRule(family, name, rule))),
  ];
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

function* compareSets(actual: Table['sets'], desired: Table['sets']): Pieces<SetDifference> {
  const difference: SetDifference = { remove: [], make: [], change: [] };
  for (const set of actual.values()) if (!desired.has(set.name)) difference.remove.push(set);
  yield* inPieces(OBJECTS_OF_A_PIECE, desired.values(), set =>
    compareSet(actual.get(set.name), set, difference),
  );
  return difference;
}

function compareSet(
  actual: NftSet | undefined,
  desired: NftSet,
  { remove, make, change }: SetDifference,
): void {
  if (actual === undefined) make.push(desired);
  else if (mustBeRemade(actual, desired)) {
    remove.push(actual);
    make.push(desired);
  } else if (!desired.interval && desired.dynamic === undefined && actual.elements !== desired.elements)
    change.push({ actual, desired });
}

function mustBeRemade(actual: NftSet, desired: NftSet): boolean {
  if (actual === desired) return false;
  // Single intervals are never changed: 22 ms for one deletion from a big set, and both ends are needed.
  if (desired.interval && !elementsEqual(actual.elements, desired.elements)) return true;
  return !specsEqual(actual, desired) || !hasRoomFor(actual, desired);
}

interface ChainDifference {
  readonly flush: Chain[];
  readonly remove: Chain[];
  readonly make: Chain[];
  readonly fill: Chain[];
}

function* compareChains(
  actual: Table['chains'],
  desired: Table['chains'],
  removedSets: ReadonlySet<string>,
): Pieces<ChainDifference> {
  const difference: ChainDifference = { flush: [], remove: [], make: [], fill: [] };
  for (const chain of actual.values()) if (!desired.has(chain.name)) removeChain(chain, difference);
  yield* inPieces(OBJECTS_OF_A_PIECE, desired.values(), chain =>
    compareChain(actual.get(chain.name), chain, removedSets, difference),
  );
  return difference;
}

function compareChain(
  actual: Chain | undefined,
  desired: Chain,
  removedSets: ReadonlySet<string>,
  difference: ChainDifference,
): void {
  const { flush, make, fill } = difference;
  if (actual === undefined || !hooksEqual(actual, desired)) {
    if (actual !== undefined) removeChain(actual, difference);
    make.push(desired);
    fill.push(desired);
  } else if (!rulesEqual(actual.rules, desired.rules) || usesAny(removedSets, desired)) {
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

// The kernel passes over an element that exists already, whatever its comment, and refuses one with another
// verdict (EEXIST): such an element goes and comes again.
function changeElements(family: TableFamily, { actual, desired }: SetChange): { del: Op[]; add: Op[] } {
  const { keys, elements } = elementsBetween(actual.elements, desired.elements);
  const set = specOf(desired);
  return {
    del: keys.length === 0 ? [] : [{ op: 'delElements', family, set, keys }],
    add: elements.length === 0 ? [] : [{ op: 'addElements', family, set, elements }],
  };
}

/** Of a set that is made: hundreds of thousands, in one turn of the loop. */
function allElements(family: TableFamily, set: NftSet): Op[] {
  const elements = [...set.elements];
  return elements.length === 0 ? [] : [{ op: 'addElements', family, set: specOf(set), elements }];
}

interface ElementDifference {
  readonly keys: ElementKey[];
  readonly elements: [ElementKey, ElementValue][];
}

/** What has to go, and what has to come. */
function elementsBetween(actual: Elements, desired: Elements): ElementDifference {
  const difference: ElementDifference = { keys: [], elements: [] };
  for (const key of changedKeys(actual, desired) ?? keysOfEither(actual, desired)) {
    const [before, now] = [actual.get(key), desired.get(key)];
    if (before !== undefined && now !== undefined && valuesEqual(before, now)) continue;
    if (before !== undefined) difference.keys.push(key);
    if (now !== undefined) difference.elements.push([key, now]);
  }
  return difference;
}

function* keysOfEither(actual: Elements, desired: Elements): Generator<ElementKey> {
  yield* actual.keys();
  for (const key of desired.keys()) if (!actual.has(key)) yield key;
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
