/** The log expression as far as it is ours, to a group of nfnetlink_log, beside its way back. */
import type { Expr } from '../../../nft/ruleset.ts';
import { type AttributeWriter, readString, readU16, readU32, type Span } from '../wire/attributes.ts';
import { LOG } from './constants.ts';

type Log = Expr & { kind: 'log' };
type Attributes = ReadonlyMap<number, Span>;

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
