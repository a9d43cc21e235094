/** Why the kernel refused a batch, as an error that names the object and says what is wrong with it. */
import { KernelError } from '../../nft/kernel.ts';
import { type Op, opText } from '../../nft/plan/op.ts';
import type { ElementKey } from '../../nft/ruleset.ts';
import { errnoName } from '../wire/errno.ts';
import type { Reply } from '../wire/replies.ts';
import type { Batch } from './batch.ts';
import { elementAt } from './elements.ts';

/** `errors` are the answers to `batch`, which was made of `ops`; at least one. */
export function refusal(errors: readonly Reply[], batch: Batch, ops: readonly Op[]): KernelError {
  const first = errors[0]!;
  const code = errnoName(first.errno);
  // What a commit as a whole fails for is answered in the name of its first message.
  const step = WHOLE_BATCH.has(code) ? undefined : batch.stepOf(first.sequence);
  const op = step === undefined ? undefined : ops[step];
  const subject = op === undefined ? `a batch of ${ops.length} changes` : subjectOf(op, first, batch);
  const more = errors.length > 1 ? `, and ${errors.length - 1} more errors` : '';
  const message = `${code}: ${subject}: ${first.text ?? reason(code, op)}${more}; nothing was changed`;
  return new KernelError(code, message, op === undefined ? {} : { op });
}

const WHOLE_BATCH: ReadonlySet<string> = new Set(['ERESTART', 'ELOOP', 'EMLINK']);

/** The step, or the one element of it that was refused. */
function subjectOf(op: Op, reply: Reply, batch: Batch): string {
  if (op.op !== 'addElements' && op.op !== 'delElements') return opText(op);
  const key = refusedKey(op, reply, batch);
  if (key === undefined) return opText(op);
  const where = `${op.family} sluice ${op.set.name}`;
  return op.op === 'addElements' ? `add element ${key} to ${where}` : `delete element ${key} from ${where}`;
}

type ElementsOp = Extract<Op, { op: 'addElements' | 'delElements' }>;

function refusedKey(op: ElementsOp, { sequence, offset }: Reply, batch: Batch): ElementKey | undefined {
  const keys = op.op === 'addElements' ? op.elements.slice(0, 2).map(([key]) => key) : op.keys.slice(0, 2);
  if (keys.length === 1) return keys[0];
  return offset === undefined ? undefined : elementAt(batch.buffer, batch.startOf(sequence) + offset, op.set);
}

function reason(code: string, op: Op | undefined): string {
  switch (code) {
    case 'EBUSY':
      return 'still in use';
    case 'ENOENT':
      return op?.op === 'addRule' || op?.op === 'addElements'
        ? 'it names something that does not stand'
        : 'it does not stand';
    case 'EEXIST':
      return op?.op === 'addElements' ? 'it stands with another value' : 'it stands already';
    case 'ENFILE':
      return 'the set is full';
    case 'EPERM':
      return 'another process owns the table';
    case 'ERESTART':
      return 'somebody else changed the rules meanwhile';
    case 'ELOOP':
      return 'chains jump in a circle';
    case 'EMLINK':
      return 'chains jump in a circle, or deeper than 16';
    default:
      return 'the kernel refused it';
  }
}
