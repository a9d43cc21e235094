/** `exthdr frag exists`: whether IPv6 has an extension header. The kernel can read its fields too, which is not ours. */
import { toHex } from '../../../nft/match.ts';
import type { Expr, Register } from '../../../nft/ruleset.ts';
import { type AttributeWriter, readHex, readU32, type Span } from '../wire/attributes.ts';
import { EXTHDR, EXTHDR_F_PRESENT } from './constants.ts';

/** NFT_EXTHDR_OP_IPV6. */
const OP_IPV6 = 0;

/** All but the register. */
export function writeExthdr(to: AttributeWriter, type: number): void {
  to.hex(EXTHDR.TYPE, toHex([type]));
  to.u32(EXTHDR.OFFSET, 0);
  to.u32(EXTHDR.LEN, 1);
  to.u32(EXTHDR.FLAGS, EXTHDR_F_PRESENT);
  to.u32(EXTHDR.OP, OP_IPV6);
}

export function readExthdr(data: ReadonlyMap<number, Span>, dreg: Register | undefined): Expr | undefined {
  const number = (attribute: number) => {
    const span = data.get(attribute);
    return span && readU32(span);
  };
  const type = data.get(EXTHDR.TYPE);
  const asksPresence = number(EXTHDR.FLAGS) === EXTHDR_F_PRESENT && number(EXTHDR.OP) === OP_IPV6;
  if (!asksPresence || type === undefined || dreg === undefined) return undefined;
  return { kind: 'exthdr', type: Number.parseInt(readHex(type), 16), dreg };
}
