/**
 * A batch is atomic for rules, and not for a packet that is under way while it comes into force: the packet walks the
 * rules of the generation in which it set out, but a look-up finds the elements of the generation in which it is made.
 * So it may be led to a chain that had no rules yet when it set out, and fall out of it as if nobody had an objection;
 * and what is put into an interval set is seen only a little after the generation has turned over. Both were measured:
 * of some ten thousand packets that policy always denies one passed while policies changed.
 *
 * So all that is new goes first, in batches of its own, while no rule and no element in force leads to it; the batch
 * that makes a difference follows.
 */
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { NftRule, NftVerdict, TableFamily } from '../ruleset.ts';
import type { Op } from './op.ts';
import { PORTION, portionsOf } from './portions.ts';

/**
 * `ops` in the batches to commit them in, one after the other; one, as long as nothing new can go ahead. What goes ahead is
 * cut into portions of that weight.
 */
export function stagesOf(ops: readonly Op[], portion = PORTION): readonly (readonly Op[])[] {
  if (ops.some(({ op }) => op === 'delTable')) return [ops];
  const ahead = newObjects(ops);
  if (ahead.size === 0) return [ops];
  const isAhead = (op: Op) => op.op === 'addTable' || (isMaking(op) && ahead.has(objectOf(op)));
  const [first, second] = [ops.filter(isAhead), ops.filter(op => !isAhead(op))];
  return second.length === 0 ? portionsOf(ops, portion) : [...portionsOf(first, portion), second];
}

type Making = Extract<Op, { op: 'addSet' | 'addElements' | 'addChain' | 'addRule' }>;

function isMaking(op: Op): op is Making {
  return op.op === 'addSet' || op.op === 'addElements' || op.op === 'addChain' || op.op === 'addRule';
}

type Kind = 'set' | 'chain';

/** Of a set or a chain. */
type Place = readonly [TableFamily, Kind, string];

/** Sets and chains. A batch has a hundred thousand steps: no text is made of each to look it up. */
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
 * Sets and chains that did not exist before, and lead to nothing that is made anew under its name in this batch: that
 * could not go while they use it. A base chain is in force as soon as it exists, so it is never ahead.
 */
function newObjects(ops: readonly Op[]): Objects {
  const made = ops.filter(op => op.op === 'addSet' || (op.op === 'addChain' && op.hook === undefined));
  const ahead = new Objects(made.map(op => objectOf(op as Making)));
  for (const op of ops) {
    if (op.op === 'delSet') ahead.delete([op.family, 'set', op.set]);
    if (op.op === 'delChain') ahead.delete([op.family, 'chain', op.chain]);
  }
  const late = lateObjects(ops, ahead);
  while (late.size > 0 && dropUsersOf(late, ops, ahead)) {
    // Whoever leads to one that waits has to wait, too.
  }
  return ahead;
}

/** What this batch makes that cannot go ahead. */
function lateObjects(ops: readonly Op[], ahead: Objects): Objects {
  const made = ops.filter(op => op.op === 'addSet' || op.op === 'addChain');
  return new Objects(made.map(op => objectOf(op as Making)).filter(place => !ahead.has(place)));
}

/** Answers whether it dropped any. */
function dropUsersOf(late: Objects, ops: readonly Op[], ahead: Objects): boolean {
  const before = late.size;
  for (const op of ops) {
    if (!isMaking(op) || !ahead.has(objectOf(op)) || !usedBy(op).some(place => late.has(place))) continue;
    ahead.delete(objectOf(op));
    late.add(objectOf(op));
  }
  return late.size > before;
}

/** The sets and chains that an element or a rule leads to. */
function usedBy(op: Making): Place[] {
  if (op.op === 'addRule') return usedByRule(op.family, op.rule);
  if (op.op !== 'addElements' || !op.set.verdicts) return []; // of plain members there may be hundreds of thousands
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
