/** Builders for matches of IPv6 extension headers. */
import { FIRST_REGISTER, toHex } from './match.ts';
import type { Expr } from './ruleset.ts';

/** `ip6 nexthdr 6`: the byte of the fixed header, which is cheap to read. */
export function nextHeaderIs(number: number, invert = false): Expr[] {
  return [
    { kind: 'payload', base: 'network', offset: 6, length: 1, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: invert ? 'neq' : 'eq', data: toHex([number]) },
  ];
}

export const FRAGMENT = 44;

/** `exthdr frag exists`: a fragment, wherever the fragment header is in the chain of extension headers. */
export function isFragment(): Expr[] {
  return [
    { kind: 'exthdr', type: FRAGMENT, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: '01' },
  ];
}

/** RFC 8200, 4.5: not the first fragment, by the offset in a fragment header that directly follows the fixed header. */
export function isLaterFragment(): Expr[] {
  return [
    ...nextHeaderIs(FRAGMENT),
    { kind: 'payload', base: 'network', offset: 42, length: 2, dreg: FIRST_REGISTER },
    { kind: 'bitwise', sreg: FIRST_REGISTER, dreg: FIRST_REGISTER, mask: 'fff8', xor: '0000' },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'neq', data: '0000' },
  ];
}
