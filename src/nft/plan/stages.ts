/**
 * A batch is atomic for rules, but not for a packet that is on its way while the batch is committed: the packet walks
 * the rules of the generation in which it began, but a look-up finds the elements of the generation at that moment. So
 * a packet may be led to a chain that had no rules when the packet began, and leave it without a verdict; and elements
 * of an interval set become visible only shortly after the generation has changed. Both were measured: of some ten
 * thousand packets that policy always denies, one passed while policies changed.
 *
 * So all new objects are committed first, in batches of their own, while no rule or element in force refers to them.
 * The batch that takes effect follows.
 */
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { NftRule, NftVerdict, TableFamily } from '../ruleset.ts';
import type { Op } from './op.ts';
import { PORTION, portionsOf } from './portions.ts';

/**
 * `ops` in the batches in which to commit them, one after the other; a single batch if no new object can be committed
 * early. Early batches have at most the weight `portion`.
 */
export function stagesOf(ops: readonly Op[], portion = PORTION): readonly (readonly Op[])[] {
  if (!ops.some(({ op }) => op === 'addSet' || op === 'addChain')) return [ops];
  if (ops.some(({ op }) => op === 'delTable')) return [ops];
  const early = newObjects(ops);
  if (early.size === 0) return [ops];
  const isEarly = (op: Op) => op.op === 'addTable' || (isMaking(op) && early.has(objectOf(op)));
  const [first, second] = [ops.filter(isEarly), ops.filter(op => !isEarly(op))];
  return second.length === 0 ? portionsOf(ops, portion) : [...portionsOf(first, portion), second];
}

type Making = Extract<Op, { op: 'addSet' | 'addElements' | 'addChain' | 'addRule' }>;

function isMaking(op: Op): op is Making {
  return op.op === 'addSet' || op.op === 'addElements' || op.op === 'addChain' || op.op === 'addRule';
}

type Kind = 'set' | 'chain';

/** Identifies a set or a chain. */
type Place = readonly [TableFamily, Kind, string];

/**
 * A collection of sets and chains. A batch may have a hundred thousand operations, so no text is built to look one up.
 */
class Objects {
  readonly #names = new Map<TableFamily, Record<Kind, Set<string>>>();

  constructor(places: Iterable<Place>) {
    for (const place of places) this.add(place);
  }

  get size(): number {
    return [...this.#names.values()].reduce((sum, { set, chain }) => sum + set.size + chain.size, 0);
  }

  has([family, kind, name]: Place): boolean {
    return this.#names.get(family)?.[kind].has(name) ?? false;
  }

  add([family, kind, name]: Place): void {
    getOrMake(this.#names, family, () => ({ set: new Set(), chain: new Set() }))[kind].add(name);
  }

  delete([family, kind, name]: Place): void {
    this.#names.get(family)?.[kind].delete(name);
  }
}

/**
 * Sets and chains that did not exist before, and do not refer to an object that this batch deletes and creates again:
 * that object could not be deleted while they use it. A base chain takes effect as soon as it exists, so it is never
 * committed early.
 */
function newObjects(ops: readonly Op[]): Objects {
  const made = ops.filter(op => op.op === 'addSet' || (op.op === 'addChain' && op.hook === undefined));
  const early = new Objects(made.map(op => objectOf(op as Making)));
  for (const op of ops) {
    if (op.op === 'delSet') early.delete([op.family, 'set', op.set]);
    if (op.op === 'delChain') early.delete([op.family, 'chain', op.chain]);
  }
  const late = lateObjects(ops, early);
  while (late.size > 0 && dropUsersOf(late, ops, early)) {
    // An object that refers to a late one is late as well.
  }
  return early;
}

/** New objects of this batch that cannot be committed early. */
function lateObjects(ops: readonly Op[], early: Objects): Objects {
  const made = ops.filter(op => op.op === 'addSet' || op.op === 'addChain');
  return new Objects(made.map(op => objectOf(op as Making)).filter(place => !early.has(place)));
}

/** Drops objects that refer to late ones. Returns whether it dropped any. */
function dropUsersOf(late: Objects, ops: readonly Op[], early: Objects): boolean {
  const before = late.size;
  for (const op of ops) {
    if (!isMaking(op) || !early.has(objectOf(op)) || !usedBy(op).some(place => late.has(place))) continue;
    early.delete(objectOf(op));
    late.add(objectOf(op));
  }
  return late.size > before;
}

/** The sets and chains to which an element or a rule refers. */
function usedBy(op: Making): Place[] {
  if (op.op === 'addRule') return usedByRule(op.family, op.rule);
  if (op.op !== 'addElements' || !op.set.verdicts) return []; // a set of plain members may have hundreds of thousands
  const chains = new Set<string>();
  for (const [, { verdict }] of op.elements) for (const chain of chainOf(verdict)) chains.add(chain);
  return [...chains].map((chain): Place => [op.family, 'chain', chain]);
}

function usedByRule(family: TableFamily, { exprs }: NftRule): Place[] {
  return exprs.flatMap((expr): Place[] => {
    if ('set' in expr) return [[family, 'set', expr.set]];
    return expr.kind === 'verdict'
      ? chainOf(expr.verdict).map((chain): Place => [family, 'chain', chain])
      : [];
  });
}

function chainOf(verdict: NftVerdict | undefined): string[] {
  return verdict !== undefined && 'chain' in verdict ? [verdict.chain] : [];
}

function objectOf(op: Making): Place {
  return 'set' in op ? [op.family, 'set', op.set.name] : [op.family, 'chain', op.chain];
}
