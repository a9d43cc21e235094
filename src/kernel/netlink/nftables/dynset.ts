/** `update @set { … }`, with its limit, beside its way back. */
import type { Expr } from '../../../nft/ruleset.ts';
import {
  type AttributeWriter,
  readAttributes,
  readString,
  readU32,
  readU64,
  type Span,
} from '../wire/attributes.ts';
import { DYNSET, EXPR } from './constants.ts';
import { readLimit, writeLimit } from './limit.ts';

type Dynset = Expr & { kind: 'dynset' };
type Attributes = ReadonlyMap<number, Span>;

// NFT_DYNSET_OP_*.
const OPS = { update: 1, delete: 2 } as const;

/** All but the register. */
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
