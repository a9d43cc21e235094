/** Batches whose commit takes microseconds whatever else the tables hold. */
import type { Op } from '../../../nft/plan/op.ts';

const MAX_OPS = 16;
const MAX_ELEMENTS = 64;

/**
 * Members of hash sets. Not rules, and not elements with a verdict, for which the kernel walks the whole table;
 * not intervals, for which it sorts the whole set; not whole sets or chains, which may be big.
 */
export function isSmall(ops: readonly Op[]): boolean {
  return ops.length <= MAX_OPS && ops.every(isSmallOp);
}

function isSmallOp(op: Op): boolean {
  switch (op.op) {
    case 'addElements':
      return op.elements.length <= MAX_ELEMENTS && !op.set.interval && !op.set.verdicts;
    case 'delElements':
      return op.keys.length <= MAX_ELEMENTS && !op.set.interval;
    default:
      return false;
  }
}
