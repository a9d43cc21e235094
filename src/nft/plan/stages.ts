/**
 * A batch is atomic, but for one thing: what is put into an interval set is seen by packets only a little after
 * the generation has turned over (`nf_tables_commit` turns the cursor and then has each such set publish its new
 * array). A rule that comes into force in the same batch meets an empty set for some microseconds: measured, one
 * flip of policy in fifteen was seen by a packet. So new interval sets go first, in a batch of their own, while
 * no rule names them; the batch that makes a difference follows. Chains that the elements of such a map lead to go
 * with it, still empty.
 */

import type { Family } from '../ruleset.ts';
import type { Op } from './op.ts';

/** `ops` in the batches to commit them in, one after the other; one, as long as there are no new interval sets. */
export function stagesOf(ops: readonly Op[]): readonly (readonly Op[])[] {
  const ahead = newIntervalSets(ops);
  if (ahead.size === 0) return [ops];
  const isOfAhead = (op: Op) => isOfSet(op) && ahead.has(setKey(op.family, op.set.name));
  const targets = targetsOf(ops.filter(isOfAhead));
  const isAhead = (op: Op) =>
    op.op === 'addTable' ||
    isOfAhead(op) ||
    (op.op === 'addChain' && targets.has(setKey(op.family, op.chain)));
  return [ops.filter(isAhead), ops.filter(op => !isAhead(op))];
}

/** Sets that are recreated under their name are left out: rules in force already refer to them. */
function newIntervalSets(ops: readonly Op[]): Set<string> {
  const made = ops.filter(op => op.op === 'addSet' && op.set.interval) as Extract<Op, { op: 'addSet' }>[];
  const keys = new Set(made.map(({ family, set }) => setKey(family, set.name)));
  for (const op of ops) if (op.op === 'delSet') keys.delete(setKey(op.family, op.set));
  return ops.some(({ op }) => op === 'delTable') ? new Set() : keys;
}

/** The chains that elements lead to. */
function targetsOf(ops: readonly Op[]): Set<string> {
  const targets = new Set<string>();
  for (const op of ops) {
    for (const [, { verdict }] of op.op === 'addElements' ? op.elements : [])
      if (verdict !== undefined && 'chain' in verdict) targets.add(setKey(op.family, verdict.chain));
  }
  return targets;
}

function isOfSet(op: Op): op is Extract<Op, { op: 'addSet' | 'addElements' }> {
  return op.op === 'addSet' || op.op === 'addElements';
}

function setKey(family: Family, name: string): string {
  return `${family} ${name}`;
}
