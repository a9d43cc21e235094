import type { ElementKey } from '../ruleset.ts';
import { type Op, opText } from './op.ts';

/** The object that an error says was refused: the operation, or one element of it, and the policy of a rule. */
export function refusedText(op: Op, key: ElementKey | undefined): string {
  if (op.op === 'addElements' && key !== undefined)
    return `add element ${key} to ${op.family} sluice ${op.set.name}`;
  if (op.op === 'delElements' && key !== undefined)
    return `delete element ${key} from ${op.family} sluice ${op.set.name}`;
  if (op.op === 'addRule' && op.rule.comment !== undefined) return `${opText(op)} (${op.rule.comment})`;
  return opText(op);
}
