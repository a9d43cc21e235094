/** Builders for what a rule asks of IPv6 between its header and what it carries. */
import { FIRST, toHex } from './match.ts';
import type { Expr } from './ruleset.ts';

/** `ip6 nexthdr 6`: the byte of the header itself, at hand. */
export function nextHeaderIs(number: number, invert = false): Expr[] {
  return [
    { kind: 'payload', base: 'network', offset: 6, length: 1, dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: invert ? 'neq' : 'eq', data: toHex([number]) },
  ];
}

export const FRAGMENT = 44;

/** `exthdr frag exists`: a piece of a packet, wherever in the chain of headers it says so. */
export function isFragment(): Expr[] {
  return [
    { kind: 'exthdr', type: FRAGMENT, dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: 'eq', data: '01' },
  ];
}

/** RFC 8200, 4.5: not the first piece, by an offset in the header that comes first. */
export function isLaterFragment(): Expr[] {
  return [
    ...nextHeaderIs(FRAGMENT),
    { kind: 'payload', base: 'network', offset: 42, length: 2, dreg: FIRST },
    { kind: 'bitwise', sreg: FIRST, dreg: FIRST, mask: 'fff8', xor: '0000' },
    { kind: 'cmp', sreg: FIRST, op: 'neq', data: '0000' },
  ];
}
