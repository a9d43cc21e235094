/** The limit expression, alone and in a dynamic set, beside its way back: packets a second. */
import type { Expr } from '../../../nft/ruleset.ts';
import { type AttributeWriter, readU32, readU64, type Span } from '../wire/attributes.ts';
import { LIMIT } from './constants.ts';

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
