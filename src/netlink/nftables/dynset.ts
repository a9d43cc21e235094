/** `update @set { … }`, with its limit, beside its way back. */
import type { Expr } from '../../nft/ruleset.ts';
import {
  type AttributeWriter,
  readAttributes,
  readString,
  readU32,
  readU64,
  type Span,
} from '../wire/attributes.ts';
import { DYNSET, EXPR, LIMIT } from './constants.ts';

type Dynset = Expr & { kind: 'dynset' };
type Attributes = ReadonlyMap<number, Span>;

// NFT_DYNSET_OP_*, NFT_LIMIT_PKTS, NFT_LIMIT_F_INV.
const OPS = { update: 1, delete: 2 } as const;
const PACKETS = 0;
const OVER = 1;
const SECOND = 1;

/** All but the register. */
export function writeDynset(to: AttributeWriter, { op, set, timeoutMs, over }: Dynset): void {
  to.string(DYNSET.SET_NAME, set);
  to.u32(DYNSET.OP, OPS[op]);
  if (timeoutMs !== undefined) to.u64(DYNSET.TIMEOUT, timeoutMs);
  if (over === undefined) return;
  to.nest(DYNSET.EXPR, () => {
    to.string(EXPR.NAME, 'limit');
    to.nest(EXPR.DATA, () => {
      to.u64(LIMIT.RATE, over.perSecond);
      to.u64(LIMIT.UNIT, SECOND);
      to.u32(LIMIT.BURST, over.burst);
      to.u32(LIMIT.TYPE, PACKETS);
      to.u32(LIMIT.FLAGS, OVER);
    });
  });
}

/** Undefined where it is not of our making. */
export function readDynset(data: Attributes, sreg: number | undefined): Dynset | undefined {
  const [set, id, timeout, nested] = [DYNSET.SET_NAME, DYNSET.OP, DYNSET.TIMEOUT, DYNSET.EXPR].map(type =>
    data.get(type),
  );
  const op = id && (Object.keys(OPS) as (keyof typeof OPS)[]).find(name => OPS[name] === readU32(id));
  const timeoutMs = timeout && readU64(timeout);
  const over = nested && readLimit(nested);
  if (set === undefined || op === undefined || sreg === undefined) return undefined;
  if (nested !== undefined && over === undefined) return undefined;
  const times = timeoutMs ? { timeoutMs } : {};
  return { kind: 'dynset', op, set: readString(set), sreg, ...times, ...(over && { over }) };
}

function readLimit(expression: Span): Dynset['over'] {
  const attributes = readAttributes(expression);
  const [name, data] = [attributes.get(EXPR.NAME), attributes.get(EXPR.DATA)];
  if (name === undefined || data === undefined || readString(name) !== 'limit') return undefined;
  const limit = readAttributes(data);
  const [rate, unit] = [limit.get(LIMIT.RATE), limit.get(LIMIT.UNIT)];
  const [burst, type, flags] = [LIMIT.BURST, LIMIT.TYPE, LIMIT.FLAGS].map(id => {
    const span = limit.get(id);
    return span && readU32(span);
  });
  if (rate === undefined || unit === undefined || burst === undefined) return undefined;
  if (readU64(unit) !== SECOND || type !== PACKETS || flags !== OVER) return undefined;
  return { perSecond: readU64(rate), burst };
}
