/** Why the kernel refused a batch, as an error that names the object and says what is wrong with it. */
import { KernelError } from '../../../nft/kernel.ts';
import type { Op } from '../../../nft/plan/op.ts';
import { refusedText } from '../../../nft/plan/refusedtext.ts';
import type { ElementKey } from '../../../nft/ruleset.ts';
import { eachAttribute, readAttributes, readU32 } from '../wire/attributes.ts';
import { errnoName } from '../wire/constants.ts';
import { MESSAGE_HEADER, NFGEN_HEADER, type Reply } from '../wire/messages.ts';
import type { Batch } from './batch.ts';
import { ELEMENT, ELEMENT_F, ELEMENTS } from './constants.ts';
import type { Draft } from './encode.ts';

/** The contents of a batch. */
export type Refused = Pick<Draft, 'ops' | 'tables'>;

/** `errors` are the answers to `batch`; at least one. */
export function refusal(errors: readonly Reply[], batch: Batch, { ops, tables }: Refused): KernelError {
  const first = errors[0]!;
  const code = errnoName(first.errno);
  const op = refusedOp(code, first, batch, ops);
  const key = op !== undefined && isElementsOp(op) ? refusedKey(op, first, batch) : undefined;
  const subject = op === undefined ? wholeText(ops, tables) : refusedText(op, key);
  const more = errors.length > 1 ? `, and ${errors.length - 1} more errors` : '';
  const message = `${code}: ${subject}: ${first.text ?? reason(code, op)}${more}; nothing was changed`;
  return new KernelError(code, message, { op, key });
}

/** The kernel reports an error of the commit as a whole as one of its first message. */
function refusedOp(code: string, { sequence }: Reply, batch: Batch, ops: readonly Op[]): Op | undefined {
  const step = batch.stepOf(sequence);
  const op = step === undefined ? undefined : ops[step];
  if (op === undefined || code === 'ERESTART') return undefined;
  // Once the whole table was found to jump too deep, the kernel looks again behind each step that adds a jump.
  return TOO_DEEP.has(code) && op.op !== 'addRule' && op.op !== 'addElements' ? undefined : op;
}

function wholeText(ops: readonly Op[], tables: Refused['tables']): string {
  if (ops.length > 0) return `a batch of ${ops.length} changes`;
  return `take over ${tables.map(({ family }) => `table ${family} sluice`).join(', ')}`;
}

const TOO_DEEP: ReadonlySet<string> = new Set(['ELOOP', 'EMLINK']);

function isElementsOp(op: Op): op is Extract<Op, { op: 'addElements' | 'delElements' }> {
  return op.op === 'addElements' || op.op === 'delElements';
}

function reason(code: string, op: Op | undefined): string {
  switch (code) {
    case 'EBUSY':
      return 'still in use';
    case 'ENOENT':
      return op?.op === 'addRule' || op?.op === 'addElements'
        ? 'it refers to something that does not exist'
        : 'it does not exist';
    case 'EEXIST':
      return op?.op === 'addElements' ? 'it exists with another value' : 'it exists already';
    case 'ENFILE':
      return 'the set is full';
    case 'EFBIG':
      return 'the rule is larger than the kernel keeps one';
    case 'EPERM':
      return 'another process owns the table';
    case 'ERESTART':
      return 'another process changed the rules meanwhile';
    case 'ELOOP':
      return 'chains jump in a circle';
    case 'EMLINK':
      return 'chains jump in a circle, or deeper than 16';
    default:
      return 'the kernel refused it';
  }
}

/** Which element of a step the kernel refused: it says where in the message the attribute of it begins. */
type ElementsOp = Extract<Op, { op: 'addElements' | 'delElements' }>;

/** Undefined where the kernel does not say. */
function refusedKey(op: ElementsOp, { sequence, offset }: Reply, batch: Batch): ElementKey | undefined {
  const keys = op.op === 'addElements' ? op.elements.map(([key]) => key) : op.keys;
  if (keys.length === 1) return keys[0];
  if (offset === undefined) return undefined;
  return keys[elementsUpTo(batch, sequence, offset) - 1];
}

/** How many elements of the step begin up to `offset` of a message; 0 where it lies in front of them. */
function elementsUpTo(batch: Batch, sequence: number, offset: number): number {
  const within = elementsIn(batch, sequence, offset);
  if (within === 0) return 0;
  // A step of many elements is several messages, one behind the other.
  let before = 0;
  const step = batch.stepOf(sequence);
  for (let earlier = sequence - 1; batch.stepOf(earlier) === step; earlier--)
    before += elementsIn(batch, earlier, Number.POSITIVE_INFINITY);
  return before + within;
}

function elementsIn(batch: Batch, sequence: number, offset: number): number {
  const bytes = batch.written.buffer;
  const message = batch.startOf(sequence);
  const start = message + MESSAGE_HEADER + NFGEN_HEADER;
  const list = readAttributes({ bytes, start, end: message + bytes.readUInt32LE(message) }).get(
    ELEMENTS.ELEMENTS,
  );
  let count = 0;
  if (list === undefined) return count;
  eachAttribute(bytes, list.start, list.end, (_, from, to) => {
    if (from - HEADER <= message + offset && !endsInterval(bytes, from, to)) count++;
  });
  return count;
}

const HEADER = 4;

/** The second of the two that an interval is made of. */
function endsInterval(bytes: Buffer, start: number, end: number): boolean {
  const flags = readAttributes({ bytes, start, end }).get(ELEMENT.FLAGS);
  return flags !== undefined && (readU32(flags) & ELEMENT_F.INTERVAL_END) !== 0;
}
