/** What is known of a packet's connection, beside its way back. */
import type { CtKey, Expr } from '../../../nft/ruleset.ts';
import { type AttributeWriter, readU32, type Span } from '../wire/attributes.ts';
import { CT } from './constants.ts';

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

/** All but the register. */
export function writeCt(to: AttributeWriter, name: CtKey): void {
  const { key, direction } = CT_KEY[name];
  to.u32(CT.KEY, key);
  if (direction === undefined) return;
  const at = to.blank(CT.DIRECTION, 1);
  to.buffer[at] = direction;
}

/** Undefined where it is not of our making. */
export function readCt(data: ReadonlyMap<number, Span>, dreg: number | undefined): Expr | undefined {
  const [id, span] = [data.get(CT.KEY), data.get(CT.DIRECTION)];
  const direction = span?.bytes[span.start];
  if (dreg === undefined || id === undefined) return undefined;
  const key = KEYS.find(name => CT_KEY[name].key === readU32(id) && CT_KEY[name].direction === direction);
  return key && { kind: 'ct', key, dreg };
}
