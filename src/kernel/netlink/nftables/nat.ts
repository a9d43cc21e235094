/** Destination translation as far as it is ours, beside its way back. */
import { FAMILIES } from '../../../model/address.ts';
import type { Expr, Register } from '../../../nft/ruleset.ts';
import { type AttributeWriter, readU32, type Span } from '../wire/attributes.ts';
import { NAT, NAT_RANGE_PLAIN, NAT_TYPE_DNAT, NFPROTO } from './constants.ts';

/** All but the registers. */
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
