/** Builders for what a rule asks of a packet's way: the interfaces that it comes and goes by, and whom its frame was for. */
import { FIRST, littleEndian32, toHex } from './match.ts';
import type { Expr } from './ruleset.ts';

/** `iif != "lo"`: every network namespace's first interface is its loopback. */
export function notFromLoopback(): Expr[] {
  return [
    { kind: 'meta', key: 'iif', dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: 'neq', data: littleEndian32(1) },
  ];
}

/** `oif != 0`: it goes on by some interface, and not to the node itself. */
export function isForwarded(): Expr[] {
  return [
    { kind: 'meta', key: 'oif', dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: 'neq', data: littleEndian32(0) },
  ];
}

/** `iifgroup 29548`, `oifgroup != 29548`. */
export function interfaceGroupIs(key: 'iifgroup' | 'oifgroup', group: number, invert = false): Expr[] {
  return [
    { kind: 'meta', key, dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: invert ? 'neq' : 'eq', data: littleEndian32(group) },
  ];
}

/** `meta iifkind "veth"`: what made the interface. IFNAMSIZ is 16. */
export function interfaceKindIs(kind: string): Expr[] {
  return [
    { kind: 'meta', key: 'iifkind', dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: 'eq', data: Buffer.from(kind).toString('hex').padEnd(32, '0') },
  ];
}

/** `iif 7`, `iif != 7`. */
export function interfaceIs(key: 'iif' | 'oif', index: number, invert = false): Expr[] {
  return [
    { kind: 'meta', key, dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: invert ? 'neq' : 'eq', data: littleEndian32(index) },
  ];
}

/** `iif @set`, of indices. */
export function interfaceIn(key: 'iif' | 'oif', set: string, invert = false): Expr[] {
  return [
    { kind: 'meta', key, dreg: FIRST },
    { kind: 'lookup', set, sreg: FIRST, vmap: false, invert },
  ];
}

/** PACKET_* of `linux/if_packet.h`: whom the frame that a packet came in was for. */
export const PACKET_TYPE = { host: 0, broadcast: 1, multicast: 2, other: 3 } as const;

/** `meta pkttype broadcast`, `meta pkttype != host`. */
export function packetTypeIs(type: keyof typeof PACKET_TYPE, invert = false): Expr[] {
  return [
    { kind: 'meta', key: 'pkttype', dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: invert ? 'neq' : 'eq', data: toHex([PACKET_TYPE[type]]) },
  ];
}

/** `fib saddr . iif oif missing`: the node's route to the sender does not lead back to where the packet came from. */
export function noRouteBack(): Expr[] {
  return [
    { kind: 'fib', result: 'exists', flags: ['saddr', 'iif'], dreg: FIRST },
    { kind: 'cmp', sreg: FIRST, op: 'eq', data: littleEndian32(0) },
  ];
}
