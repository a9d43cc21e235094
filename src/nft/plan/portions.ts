/**
 * While the kernel executes a batch, it holds the lock that all writers of nftables need, kube-proxy included. Objects
 * that no rule in force refers to can be added in several batches, one after the other: no packet sees them before the
 * last one.
 */
import type { Op } from './op.ts';

/** The weight of a batch that takes the kernel about 20 ms. */
export const PORTION = 20_000;

/** The unit is an element of a hash set, which takes the kernel 0.8 µs; a rule takes 5 to 10 µs, and a set 15 (measured). */
const WEIGHTS: Readonly<Record<Op['op'], number>> = {
  addTable: 10,
  delTable: 10,
  addSet: 20,
  delSet: 20,
  addChain: 5,
  delChain: 5,
  flushChain: 5,
  addRule: 10,
  addElements: 1,
  delElements: 1,
};
const INTERVAL = 4;

/**
 * Splits operations into batches of at most this weight, in the same order. An interval set is added as a whole; no
 * policy has more than 20,000 intervals.
 */
export function portionsOf(ops: readonly Op[], most: number): readonly (readonly Op[])[] {
  const portions: Op[][] = [[]];
  let room = most;
  for (const whole of ops)
    for (const op of cut(whole, most)) {
      const weight = weightOf(op);
      if (weight > room && room < most) {
        portions.push([]);
        room = most;
      }
      portions.at(-1)!.push(op);
      room -= weight;
    }
  return portions;
}

function weightOf(op: Op): number {
  if (op.op !== 'addElements') return WEIGHTS[op.op];
  return op.elements.length * (op.set.interval ? INTERVAL : 1);
}

/** Splits the elements of one set into as many operations as needed. */
function cut(op: Op, most: number): Op[] {
  if (op.op !== 'addElements' || op.set.interval || op.elements.length <= most) return [op];
  return Array.from({ length: Math.ceil(op.elements.length / most) }, (_, i) => ({
    ...op,
    elements: op.elements.slice(i * most, (i + 1) * most),
  }));
}
