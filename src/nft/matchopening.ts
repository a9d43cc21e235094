/** What opens a connection, of the protocols in which that can be told, and what does not. */
import { FIRST, protocolIs, TCP_FLAGS, toHex } from './match.ts';
import type { Expr, Family } from './ruleset.ts';

/** The chunk that opens an association (RFC 9260, 3.2). */
export const SCTP_INIT = 1;

/**
 * `tcp flags & (fin | syn | rst | ack) != syn`: all of TCP but what opens a connection. The flags that ask for
 * explicit congestion notification are left out: a SYN may carry them.
 */
export function notOpeningTcp(family: Family): Expr[] {
  const { fin, syn, rst, ack } = TCP_FLAGS;
  return [
    ...protocolIs(family, 'tcp'),
    { kind: 'payload', base: 'transport', offset: 13, length: 1, dreg: FIRST },
    { kind: 'bitwise', sreg: FIRST, dreg: FIRST, mask: toHex([fin | syn | rst | ack]), xor: '00' },
    { kind: 'cmp', sreg: FIRST, op: 'neq', data: toHex([syn]) },
  ];
}

/** `sctp … @th,96,8 != 1`: all of SCTP but what begins with an INIT, which opens an association and is alone (RFC 9260, 3.3.2). */
export function notOpeningSctp(family: Family): Expr[] {
  return [
    ...protocolIs(family, 'sctp'),
    { kind: 'payload', base: 'transport', offset: 12, length: 1, dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: 'neq', data: toHex([SCTP_INIT]) },
  ];
}
