/**
 * As long as the kernel works on a batch it holds the lock of all who write nftables, kube-proxy too. What nothing in
 * force leads to yet may as well come in several batches, one after the other: no packet sees any of it before the last.
 */
import type { Op } from './op.ts';

/** Some 20 ms of the kernel's. */
export const PORTION = 20_000;

/** In units of an element of a hash, which takes the kernel 0.8 µs; a rule took it 5 to 10 µs, a set 15 (measured). */
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
 * The same steps in the same order, in batches of which none weighs more, but for interval sets: those are put up as a
 * whole, and no policy has more than 20,000 intervals.
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

/** Elements of one set, as often as they need. */
function cut(op: Op, most: number): Op[] {
  if (op.op !== 'addElements' || op.set.interval || op.elements.length <= most) return [op];
  return Array.from({ length: Math.ceil(op.elements.length / most) }, (_, i) => ({
    ...op,
    elements: op.elements.slice(i * most, (i + 1) * most),
  }));
}
