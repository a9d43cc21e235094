/** The queue expression, in both of its forms, beside its way back. */
import type { Expr, QueueBy } from '../../../nft/ruleset.ts';
import { type AttributeWriter, readString, readU16, readU32, type Span } from '../wire/attributes.ts';
import { QUEUE, QUEUE_BYPASS, TARGET } from './constants.ts';

type Queue = Expr & { kind: 'queue' };
type Attributes = ReadonlyMap<number, Span>;

const XT_NAME = 'NFQUEUE';
/** Of struct xt_NFQ_info_v3: the queue, how many, flags; each a u16 of the machine. */
const XT_REVISION = 3;
const XT_SIZE = 8;

export const QUEUE_EXPRESSION: Readonly<Record<QueueBy, string>> = { nft: 'queue', xt: 'target' };

export function writeQueue(to: AttributeWriter, { number, by }: Queue): void {
  if (by === 'xt') writeTarget(to, number);
  else writeNative(to, number);
}

function writeNative(to: AttributeWriter, number: number): void {
  to.u16(QUEUE.NUM, number);
  to.u16(QUEUE.TOTAL, 1);
  to.u16(QUEUE.FLAGS, QUEUE_BYPASS);
}

function writeTarget(to: AttributeWriter, number: number): void {
  to.string(TARGET.NAME, XT_NAME);
  to.u32(TARGET.REV, XT_REVISION);
  const at = to.blank(TARGET.INFO, XT_SIZE);
  to.buffer.writeUInt16LE(number, at);
  to.buffer.writeUInt16LE(1, at + 2);
  to.buffer.writeUInt16LE(QUEUE_BYPASS, at + 4);
}

export function readQueue(data: Attributes): Queue | undefined {
  const [number, total, flags] = [QUEUE.NUM, QUEUE.TOTAL, QUEUE.FLAGS].map(type => {
    const span = data.get(type);
    return span && readU16(span);
  });
  if (number === undefined || total !== 1 || flags !== QUEUE_BYPASS) return undefined;
  return { kind: 'queue', number, by: 'nft' };
}

/** Undefined where it is another target, or another queue than one of ours. */
export function readTarget(data: Attributes): Queue | undefined {
  const [name, revision, info] = [data.get(TARGET.NAME), data.get(TARGET.REV), data.get(TARGET.INFO)];
  if (name === undefined || revision === undefined || info === undefined) return undefined;
  if (readString(name) !== XT_NAME || readU32(revision) !== XT_REVISION || info.end - info.start < 6)
    return undefined;
  const [number, total, flags] = [0, 2, 4].map(offset => info.bytes.readUInt16LE(info.start + offset));
  return total === 1 && flags === QUEUE_BYPASS ? { kind: 'queue', number: number!, by: 'xt' } : undefined;
}
