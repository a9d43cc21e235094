/**
 * The statements of a rule: verdict, limit, log, NAT, queue, an element of a dynamic set. Each encoder is beside its
 * decoder.
 */

import { FAMILIES } from '../../../model/address.ts';
import type { Expr, NftVerdict, QueueBy, Register } from '../../../nft/ruleset.ts';
import {
  type AttributeWriter,
  readAttributes,
  readString,
  readU16,
  readU32,
  readU64,
  type Span,
} from '../wire/attributes.ts';
import {
  DATA,
  DYNSET,
  EXPR,
  LIMIT,
  LOG,
  NAT,
  NAT_RANGE_PLAIN,
  NAT_TYPE_DNAT,
  NFPROTO,
  QUEUE,
  QUEUE_BYPASS,
  TARGET,
  VERDICT,
  VERDICT_CODE,
} from './constants.ts';

type Limit = Expr & { kind: 'limit' };
type Attributes = ReadonlyMap<number, Span>;

// NFT_LIMIT_PKTS, NFT_LIMIT_F_INV; a rate is per so many seconds.
const PACKETS = 0;
const OVER = 1;
const SECOND = 1;

export function writeLimit(to: AttributeWriter, { perSecond, burst, over }: Omit<Limit, 'kind'>): void {
  to.u64(LIMIT.RATE, perSecond);
  to.u64(LIMIT.UNIT, SECOND);
  to.u32(LIMIT.BURST, burst);
  to.u32(LIMIT.TYPE, PACKETS);
  to.u32(LIMIT.FLAGS, over ? OVER : 0);
}

/** Undefined where it is of bytes, or per another time than a second. */
export function readLimit(data: Attributes): Limit | undefined {
  const [rate, unit] = [data.get(LIMIT.RATE), data.get(LIMIT.UNIT)];
  const [burst, type, flags] = [LIMIT.BURST, LIMIT.TYPE, LIMIT.FLAGS].map(id => {
    const span = data.get(id);
    return span && readU32(span);
  });
  if (rate === undefined || unit === undefined || burst === undefined || flags === undefined)
    return undefined;
  if (readU64(unit) !== SECOND || type !== PACKETS || (flags & ~OVER) !== 0) return undefined;
  return { kind: 'limit', perSecond: readU64(rate), burst, over: flags === OVER };
}

/** Destination translation, all but the registers. */
export function writeNat(to: AttributeWriter, { family }: Expr & { kind: 'nat' }): void {
  to.u32(NAT.TYPE, NAT_TYPE_DNAT);
  to.u32(NAT.FAMILY, NFPROTO[family]);
}

/** An address and a port that come out of registers, and nothing of ranges, randomness or persistence. */
export function readNat(
  data: ReadonlyMap<number, Span>,
  register: (type: number) => Register | undefined,
): Expr | undefined {
  const number = (type: number) => {
    const span = data.get(type);
    return span && readU32(span);
  };
  const [address, port] = [register(NAT.REG_ADDR_MIN), register(NAT.REG_PROTO_MIN)];
  const [lastAddress = address, lastPort = port] = [register(NAT.REG_ADDR_MAX), register(NAT.REG_PROTO_MAX)];
  const family = FAMILIES.find(name => NFPROTO[name] === number(NAT.FAMILY));
  const plain = ((number(NAT.FLAGS) ?? 0) & ~NAT_RANGE_PLAIN) === 0;
  if (number(NAT.TYPE) !== NAT_TYPE_DNAT || !plain || family === undefined) return undefined;
  if (address === undefined || port === undefined) return undefined;
  if (lastAddress !== address || lastPort !== port) return undefined;
  return { kind: 'nat', type: 'dnat', family, address, port };
}

const KIND_OF_CODE = new Map(
  Object.entries(VERDICT_CODE).map(([kind, code]) => [code as number, kind as NftVerdict['kind']]),
);

/** A verdict as NFTA_DATA_VERDICT: in the elements of a verdict map, and in the `immediate` of a rule. */
export function writeVerdict(to: AttributeWriter, attribute: number, verdict: NftVerdict): void {
  to.nest(attribute, () =>
    to.nest(DATA.VERDICT, () => {
      to.u32(VERDICT.CODE, VERDICT_CODE[verdict.kind]);
      if ('chain' in verdict) to.string(VERDICT.CHAIN, verdict.chain);
    }),
  );
}

/** Undefined for a verdict that is not ours, such as `continue` or `queue`. */
export function readVerdict(data: Span): NftVerdict | undefined {
  const verdict = readAttributes(data).get(DATA.VERDICT);
  if (verdict === undefined) return undefined;
  const attributes = readAttributes(verdict);
  const code = attributes.get(VERDICT.CODE);
  const kind = code && KIND_OF_CODE.get(readU32(code));
  const chain = attributes.get(VERDICT.CHAIN);
  if (kind === undefined) return undefined;
  if (kind !== 'jump' && kind !== 'goto') return { kind };
  return chain && { kind, chain: readString(chain) };
}

type Log = Expr & { kind: 'log' };

/** Writes a log statement to a group of nfnetlink_log. */
export function writeLog(to: AttributeWriter, { group, prefix, snaplen }: Log): void {
  to.u16(LOG.GROUP, group);
  to.string(LOG.PREFIX, prefix);
  to.u32(LOG.SNAPLEN, snaplen);
}

/** Undefined where it logs elsewhere, or in another way. */
export function readLog(data: Attributes): Log | undefined {
  const [group, prefix, snaplen] = [data.get(LOG.GROUP), data.get(LOG.PREFIX), data.get(LOG.SNAPLEN)];
  if (group === undefined || prefix === undefined || snaplen === undefined || data.size !== 3)
    return undefined;
  return { kind: 'log', group: readU16(group), prefix: readString(prefix), snaplen: readU32(snaplen) };
}

type Dynset = Expr & { kind: 'dynset' };

// NFT_DYNSET_OP_*.
const OPS = { update: 1, delete: 2 } as const;

/** `update @set { … }` with its limit, all but the register. */
export function writeDynset(to: AttributeWriter, { op, set, timeoutMs, over }: Dynset): void {
  to.string(DYNSET.SET_NAME, set);
  to.u32(DYNSET.OP, OPS[op]);
  if (timeoutMs !== undefined) to.u64(DYNSET.TIMEOUT, timeoutMs);
  if (over === undefined) return;
  to.nest(DYNSET.EXPR, () => {
    to.string(EXPR.NAME, 'limit');
    to.nest(EXPR.DATA, () => writeLimit(to, { ...over, over: true }));
  });
}

/** Undefined where it is not of our making. */
export function readDynset(data: Attributes, sreg: number | undefined): Dynset | undefined {
  const [set, id, timeout, nested] = [DYNSET.SET_NAME, DYNSET.OP, DYNSET.TIMEOUT, DYNSET.EXPR].map(type =>
    data.get(type),
  );
  const op = id && (Object.keys(OPS) as (keyof typeof OPS)[]).find(name => OPS[name] === readU32(id));
  const timeoutMs = timeout && readU64(timeout);
  const over = nested && readOver(nested);
  if (set === undefined || op === undefined || sreg === undefined) return undefined;
  if (nested !== undefined && over === undefined) return undefined;
  const times = timeoutMs ? { timeoutMs } : {};
  return { kind: 'dynset', op, set: readString(set), sreg, ...times, ...(over && { over }) };
}

function readOver(expression: Span): Dynset['over'] {
  const attributes = readAttributes(expression);
  const [name, data] = [attributes.get(EXPR.NAME), attributes.get(EXPR.DATA)];
  if (name === undefined || data === undefined || readString(name) !== 'limit') return undefined;
  const limit = readLimit(readAttributes(data));
  return limit?.over ? { perSecond: limit.perSecond, burst: limit.burst } : undefined;
}

type Queue = Expr & { kind: 'queue' };

const XT_NAME = 'NFQUEUE';
/** struct xt_NFQ_info_v3: the queue, how many, flags; each a u16 in host byte order. */
const XT_REVISION = 3;
const XT_SIZE = 8;

export const QUEUE_EXPRESSION: Readonly<Record<QueueBy, string>> = { nft: 'queue', xt: 'target' };

/** Writes a queue statement, for nft_queue or for xt_NFQUEUE. */
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
