/** The expressions of a rule; each encoder is beside its decoder. The kernel answers in the layout of the request. */

import { assertNever } from '../../../lib/text/assert.ts';
import { toHex } from '../../../nft/match.ts';
import type { CmpOp, CtKey, Expr, FibFlag, MetaKey, Register } from '../../../nft/ruleset.ts';
import {
  type AttributeWriter,
  readAttributes,
  readHex,
  readString,
  readU32,
  type Span,
} from '../wire/attributes.ts';
import {
  BITWISE,
  CMP,
  CT,
  DATA,
  DYNSET,
  EXPR,
  EXTHDR,
  EXTHDR_F_PRESENT,
  FIB,
  FIB_F_PRESENT,
  IMMEDIATE,
  LIST_ELEM,
  LOOKUP,
  LOOKUP_F_INV,
  META,
  NAT,
  PAYLOAD,
  REG_VERDICT,
  REG32_00,
} from './constants.ts';
import {
  QUEUE_EXPRESSION,
  readDynset,
  readLimit,
  readLog,
  readNat,
  readQueue,
  readTarget,
  readVerdict,
  writeDynset,
  writeLimit,
  writeLog,
  writeNat,
  writeQueue,
  writeVerdict,
} from './statements.ts';

// NFT_META_*, NFT_PAYLOAD_*_HEADER, NFT_CMP_*.
const META_KEY: Readonly<Record<MetaKey, number>> = {
  mark: 3,
  iif: 4,
  oif: 5,
  nfproto: 15,
  l4proto: 16,
  pkttype: 19,
  iifgroup: 21,
  oifgroup: 22,
  iifkind: 26,
};
const META_KEYS = new Map(Object.entries(META_KEY).map(([key, id]) => [id, key as MetaKey]));
// NFT_FIB_RESULT_OIF, NFT_FIB_RESULT_ADDRTYPE; NFTA_FIB_F_*.
const FIB_RESULT = { oif: 1, exists: 1, type: 3 } as const;
const FIB_FLAG: Readonly<Record<FibFlag, number>> = { saddr: 1, daddr: 2, iif: 8, oif: 16 };
const PAYLOAD_BASE = { link: 0, network: 1, transport: 2 } as const;
const PAYLOAD_BASES = new Map(
  Object.entries(PAYLOAD_BASE).map(([base, id]) => [id, base as keyof typeof PAYLOAD_BASE]),
);
const CMP_OPS: readonly CmpOp[] = ['eq', 'neq', 'lt', 'lte', 'gt', 'gte'];
const BITWISE_MASK_XOR = 0;

export function writeExpr(to: AttributeWriter, expr: Expr): void {
  to.nest(LIST_ELEM, () => {
    to.string(EXPR.NAME, kernelName(expr));
    to.nest(EXPR.DATA, () => writeData(to, expr));
  });
}

function kernelName(expr: Expr): string {
  if (expr.kind === 'queue') return QUEUE_EXPRESSION[expr.by];
  return expr.kind === 'verdict' ? 'immediate' : expr.kind;
}

function writeData(to: AttributeWriter, expr: Expr): void {
  switch (expr.kind) {
    case 'meta':
      to.u32(META.DREG, register(expr.dreg));
      to.u32(META.KEY, META_KEY[expr.key]);
      break;
    case 'ct':
      writeCt(to, expr.key);
      to.u32(CT.DREG, register(expr.dreg));
      break;
    case 'fib':
      to.u32(FIB.DREG, register(expr.dreg));
      to.u32(FIB.RESULT, FIB_RESULT[expr.result]);
      to.u32(FIB.FLAGS, fibFlags(expr));
      break;
    case 'payload':
      to.u32(PAYLOAD.DREG, register(expr.dreg));
      to.u32(PAYLOAD.BASE, PAYLOAD_BASE[expr.base]);
      to.u32(PAYLOAD.OFFSET, expr.offset);
      to.u32(PAYLOAD.LEN, expr.length);
      break;
    case 'exthdr':
      writeExthdr(to, expr.type);
      to.u32(EXTHDR.DREG, register(expr.dreg));
      break;
    case 'bitwise':
      to.u32(BITWISE.SREG, register(expr.sreg));
      to.u32(BITWISE.DREG, register(expr.dreg));
      to.u32(BITWISE.LEN, expr.mask.length / 2);
      to.nest(BITWISE.MASK, () => to.hex(DATA.VALUE, expr.mask));
      to.nest(BITWISE.XOR, () => to.hex(DATA.VALUE, expr.xor));
      break;
    case 'cmp':
      to.u32(CMP.SREG, register(expr.sreg));
      to.u32(CMP.OP, CMP_OPS.indexOf(expr.op));
      to.nest(CMP.DATA, () => to.hex(DATA.VALUE, expr.data));
      break;
    case 'lookup':
      to.string(LOOKUP.SET, expr.set);
      to.u32(LOOKUP.SREG, register(expr.sreg));
      if (expr.vmap) to.u32(LOOKUP.DREG, REG_VERDICT);
      else if (expr.dreg !== undefined) to.u32(LOOKUP.DREG, register(expr.dreg));
      if (expr.invert) to.u32(LOOKUP.FLAGS, LOOKUP_F_INV);
      break;
    case 'nat':
      writeNat(to, expr);
      to.u32(NAT.REG_ADDR_MIN, register(expr.address));
      to.u32(NAT.REG_PROTO_MIN, register(expr.port));
      break;
    case 'dynset':
      writeDynset(to, expr);
      to.u32(DYNSET.SREG_KEY, register(expr.sreg));
      break;
    case 'queue':
      writeQueue(to, expr);
      break;
    case 'log':
      writeLog(to, expr);
      break;
    case 'limit':
      writeLimit(to, expr);
      break;
    case 'masq':
    case 'counter':
    case 'last':
      break;
    case 'verdict':
      to.u32(IMMEDIATE.DREG, REG_VERDICT);
      writeVerdict(to, IMMEDIATE.DATA, expr.verdict);
      break;
    case 'unknown':
      throw new TypeError(
        `expression "${expr.name}" was read back from a foreign rule: it cannot be written`,
      );
    default:
      assertNever(expr);
  }
}

function fibFlags({ result, flags }: Expr & { kind: 'fib' }): number {
  return flags.reduce((bits, flag) => bits | FIB_FLAG[flag], result === 'exists' ? FIB_F_PRESENT : 0);
}

/** Never throws: an expression that is not exactly one of ours is `unknown`, so that a plan sees a difference. */
export function readExpr(element: Span): Expr {
  const attributes = readAttributes(element);
  const nameSpan = attributes.get(EXPR.NAME);
  const name = nameSpan === undefined ? '' : readString(nameSpan);
  const data = attributes.get(EXPR.DATA);
  return readKnown(name, data === undefined ? new Map() : readAttributes(data)) ?? { kind: 'unknown', name };
}

type Attributes = ReadonlyMap<number, Span>;

function readKnown(name: string, data: Attributes): Expr | undefined {
  switch (name) {
    case 'meta':
      return readMeta(data);
    case 'ct':
      return readCt(data, readRegister(data, CT.DREG));
    case 'fib':
      return readFib(data);
    case 'payload':
      return readPayload(data);
    case 'exthdr':
      return readExthdr(data, readRegister(data, EXTHDR.DREG));
    case 'bitwise':
      return readBitwise(data);
    case 'cmp':
      return readCmp(data);
    case 'lookup':
      return readLookup(data);
    case 'nat':
      return readNat(data, type => readRegister(data, type));
    case 'masq':
      return data.size === 0 ? { kind: 'masq' } : undefined;
    case 'counter':
    case 'last':
      return { kind: name };
    case 'dynset':
      return readDynset(data, readRegister(data, DYNSET.SREG_KEY));
    case 'queue':
      return readQueue(data);
    case 'log':
      return readLog(data);
    case 'limit':
      return readLimit(data);
    case 'target':
      return readTarget(data);
    case 'immediate':
      return readImmediate(data);
    default:
      return undefined;
  }
}

function readMeta(data: Attributes): Expr | undefined {
  const [dreg, id] = [readRegister(data, META.DREG), number(data, META.KEY)];
  const key = id === undefined ? undefined : META_KEYS.get(id);
  return dreg === undefined || key === undefined ? undefined : { kind: 'meta', key, dreg };
}

function readFib(data: Attributes): Expr | undefined {
  const [dreg, id, bits = 0] = [
    readRegister(data, FIB.DREG),
    number(data, FIB.RESULT),
    number(data, FIB.FLAGS),
  ];
  const present = (bits & FIB_F_PRESENT) !== 0;
  const result =
    id === FIB_RESULT.type ? 'type' : id !== FIB_RESULT.oif ? undefined : present ? 'exists' : 'oif';
  if (dreg === undefined || result === undefined) return undefined;
  const flags = (Object.keys(FIB_FLAG) as FibFlag[]).filter(flag => (bits & FIB_FLAG[flag]) !== 0);
  const expr: Expr = { kind: 'fib', result, flags, dreg };
  return fibFlags(expr) === bits ? expr : undefined; // for example by mark
}

function readPayload(data: Attributes): Expr | undefined {
  const [dreg, id] = [readRegister(data, PAYLOAD.DREG), number(data, PAYLOAD.BASE)];
  const [offset, length] = [number(data, PAYLOAD.OFFSET), number(data, PAYLOAD.LEN)];
  const base = id === undefined ? undefined : PAYLOAD_BASES.get(id as 0 | 1 | 2);
  if (dreg === undefined || base === undefined || offset === undefined || length === undefined)
    return undefined;
  return { kind: 'payload', base, offset, length, dreg };
}

function readBitwise(data: Attributes): Expr | undefined {
  const [sreg, dreg] = [readRegister(data, BITWISE.SREG), readRegister(data, BITWISE.DREG)];
  const [mask, xor] = [value(data, BITWISE.MASK), value(data, BITWISE.XOR)];
  if ((number(data, BITWISE.OP) ?? BITWISE_MASK_XOR) !== BITWISE_MASK_XOR) return undefined;
  if (sreg === undefined || dreg === undefined || mask === undefined || xor === undefined) return undefined;
  return { kind: 'bitwise', sreg, dreg, mask, xor };
}

function readCmp(data: Attributes): Expr | undefined {
  const [sreg, op] = [readRegister(data, CMP.SREG), CMP_OPS[number(data, CMP.OP) ?? -1]];
  const bytes = value(data, CMP.DATA);
  if (sreg === undefined || op === undefined || bytes === undefined) return undefined;
  return { kind: 'cmp', sreg, op, data: bytes };
}

function readLookup(data: Attributes): Expr | undefined {
  const [set, sreg, dreg] = [
    data.get(LOOKUP.SET),
    readRegister(data, LOOKUP.SREG),
    readRegister(data, LOOKUP.DREG),
  ];
  if (set === undefined || sreg === undefined) return undefined;
  const invert = ((number(data, LOOKUP.FLAGS) ?? 0) & LOOKUP_F_INV) !== 0;
  const vmap = number(data, LOOKUP.DREG) === REG_VERDICT;
  return { kind: 'lookup', set: readString(set), sreg, vmap, invert, ...(dreg !== undefined && { dreg }) };
}

function readImmediate(data: Attributes): Expr | undefined {
  const verdictData = data.get(IMMEDIATE.DATA);
  const verdict = verdictData && number(data, IMMEDIATE.DREG) === REG_VERDICT && readVerdict(verdictData);
  return verdict ? { kind: 'verdict', verdict } : undefined;
}

function register(index: Register): number {
  return REG32_00 + index;
}

/** The kernel answers NFT_REG_1..4 where a register of 16 bytes begins, else NFT_REG32_00 + n. */
function readRegister(data: Attributes, type: number): Register | undefined {
  const id = number(data, type);
  if (id === undefined || id === REG_VERDICT) return undefined;
  return id < REG32_00 ? (id - 1) * 4 : id - REG32_00;
}

function number(data: Attributes, type: number): number | undefined {
  const span = data.get(type);
  return span && readU32(span);
}

function value(data: Attributes, type: number): string | undefined {
  const nest = data.get(type);
  const bytes = nest && readAttributes(nest).get(DATA.VALUE);
  return bytes && readHex(bytes);
}

/** NFT_CT_*, and IP_CT_DIR_ORIGINAL for those that the two directions of a connection have each. */
const CT_KEY: Readonly<Record<CtKey, { readonly key: number; readonly direction?: number }>> = {
  state: { key: 0 },
  direction: { key: 1 },
  status: { key: 2 },
  'original proto-dst': { key: 12, direction: 0 },
  'original ip saddr': { key: 19, direction: 0 },
  'reply ip saddr': { key: 19, direction: 1 },
  'original ip daddr': { key: 20, direction: 0 },
  'original ip6 saddr': { key: 21, direction: 0 },
  'reply ip6 saddr': { key: 21, direction: 1 },
  'original ip6 daddr': { key: 22, direction: 0 },
};

const KEYS = Object.keys(CT_KEY) as CtKey[];

/** Conntrack data of a packet's connection, without the register. */
function writeCt(to: AttributeWriter, name: CtKey): void {
  const { key, direction } = CT_KEY[name];
  to.u32(CT.KEY, key);
  if (direction === undefined) return;
  const at = to.blank(CT.DIRECTION, 1);
  to.buffer[at] = direction;
}

/** Undefined where it is not of our making. */
function readCt(data: ReadonlyMap<number, Span>, dreg: number | undefined): Expr | undefined {
  const [id, span] = [data.get(CT.KEY), data.get(CT.DIRECTION)];
  const direction = span?.bytes[span.start];
  if (dreg === undefined || id === undefined) return undefined;
  const key = KEYS.find(name => CT_KEY[name].key === readU32(id) && CT_KEY[name].direction === direction);
  return key && { kind: 'ct', key, dreg };
}

/** NFT_EXTHDR_OP_IPV6. */
const OP_IPV6 = 0;

/**
 * `exthdr frag exists`, all but the register: whether IPv6 has an extension header. The kernel can read its fields too,
 * which is not ours.
 */
function writeExthdr(to: AttributeWriter, type: number): void {
  to.hex(EXTHDR.TYPE, toHex([type]));
  to.u32(EXTHDR.OFFSET, 0);
  to.u32(EXTHDR.LEN, 1);
  to.u32(EXTHDR.FLAGS, EXTHDR_F_PRESENT);
  to.u32(EXTHDR.OP, OP_IPV6);
}

function readExthdr(data: ReadonlyMap<number, Span>, dreg: Register | undefined): Expr | undefined {
  const number = (attribute: number) => {
    const span = data.get(attribute);
    return span && readU32(span);
  };
  const type = data.get(EXTHDR.TYPE);
  const asksPresence = number(EXTHDR.FLAGS) === EXTHDR_F_PRESENT && number(EXTHDR.OP) === OP_IPV6;
  if (!asksPresence || type === undefined || dreg === undefined) return undefined;
  return { kind: 'exthdr', type: Number.parseInt(readHex(type), 16), dreg };
}
