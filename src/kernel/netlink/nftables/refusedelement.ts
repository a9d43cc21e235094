/** Which element of a step the kernel refused: it says where in the message the attribute of it begins. */
import type { Op } from '../../../nft/plan/op.ts';
import type { ElementKey } from '../../../nft/ruleset.ts';
import { eachAttribute, readAttributes, readU32 } from '../wire/attributes.ts';
import { MESSAGE_HEADER, NFGEN_HEADER } from '../wire/messages.ts';
import type { Reply } from '../wire/replies.ts';
import type { Batch } from './batch.ts';
import { ELEMENT, ELEMENT_F, ELEMENTS } from './constants.ts';

type ElementsOp = Extract<Op, { op: 'addElements' | 'delElements' }>;

/** Undefined where the kernel does not say. */
export function refusedKey(
  op: ElementsOp,
  { sequence, offset }: Reply,
  batch: Batch,
): ElementKey | undefined {
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
  const bytes = batch.buffer;
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
