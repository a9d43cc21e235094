/** Builders for whether a packet opens a connection, and who sends it is an end of its own: no rule compares two fields. */
import { addressBits } from '../model/address.ts';
import { CT_STATE, FIRST, littleEndian32, loadAddress, toHex, update } from './match.ts';
import type { Expr, Family } from './ruleset.ts';

/** `ct state != new`. A packet has one state. */
export function ctStateIsNot(state: keyof typeof CT_STATE): Expr[] {
  return [
    { kind: 'ct', key: 'state', dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: 'neq', data: littleEndian32(CT_STATE[state]) },
  ];
}

/** `icmp code 1`, behind the type. */
export function icmpCodeIs(code: number): Expr[] {
  return [
    { kind: 'payload', base: 'transport', offset: 1, length: 1, dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: 'eq', data: toHex([code]) },
  ];
}

/** `update @set { ip saddr . ip saddr }`. */
export function rememberSender(family: Family, set: string): Expr[] {
  return [...beside(family, loadAddress(family, 'saddr', second(family))), update(set)];
}

/** `ip saddr . ct original ip saddr @set`: of an address that the set has beside itself, whether the two are one. */
export function senderIsEnd(family: Family, direction: 'original' | 'reply', set: string): Expr[] {
  const end: Expr = { kind: 'ct', key: `${direction} ${family} saddr`, dreg: second(family) };
  return [...beside(family, end), { kind: 'lookup', set, sreg: FIRST, vmap: false, invert: false }];
}

/** `ip saddr . …`. */
function beside(family: Family, other: Expr): Expr[] {
  return [loadAddress(family, 'saddr', FIRST), other];
}

function second(family: Family): number {
  return FIRST + addressBits(family) / 32;
}
