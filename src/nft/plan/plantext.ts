/** A batch as lines of the log: the operation on each object, and on which of its elements. */
import { type Op, opText } from './op.ts';

const MOST_LINES = 20;
const MOST_KEYS = 5;

export function planText(ops: readonly Op[]): string[] {
  const lines = ops.slice(0, MOST_LINES).map(lineOf);
  if (ops.length > MOST_LINES) lines.push(`and ${ops.length - MOST_LINES} more`);
  return lines;
}

function lineOf(op: Op): string {
  if (op.op === 'addElements')
    return `${opText(op)}: ${keysText(op.elements.length, key => op.elements[key]![0])}`;
  if (op.op === 'delElements') return `${opText(op)}: ${keysText(op.keys.length, key => op.keys[key]!)}`;
  // The comment of a rule names its policy.
  if (op.op === 'addRule' && op.rule.comment !== undefined) return `${opText(op)}: ${op.rule.comment}`;
  return opText(op);
}

function keysText(count: number, key: (index: number) => string): string {
  const shown = Array.from({ length: Math.min(count, MOST_KEYS) }, (_, index) => key(index));
  return shown.join(', ') + (count > MOST_KEYS ? ', …' : '');
}
