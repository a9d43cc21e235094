/** Builders for matches of a packet's interfaces and routes, and of the receiver of its frame. */
import { FIRST_REGISTER, littleEndian32, toHex } from './match.ts';
import type { Expr } from './ruleset.ts';

/** `iif != "lo"`: loopback is the first interface of every network namespace. */
export function notFromLoopback(): Expr[] {
  return [
    { kind: 'meta', key: 'iif', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'neq', data: littleEndian32(1) },
  ];
}

/** `oif != 0`: the packet leaves by an interface, so it is not for the node itself. */
export function isForwarded(): Expr[] {
  return [
    { kind: 'meta', key: 'oif', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'neq', data: littleEndian32(0) },
  ];
}

/** `iifgroup 29548`, `oifgroup != 29548`. */
export function interfaceGroupIs(key: 'iifgroup' | 'oifgroup', group: number, invert = false): Expr[] {
  return [
    { kind: 'meta', key, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: invert ? 'neq' : 'eq', data: littleEndian32(group) },
  ];
}

/** `meta iifkind "veth"`: the kind of the interface, as text of IFNAMSIZ (16) bytes. */
export function interfaceKindIs(kind: string): Expr[] {
  return [
    { kind: 'meta', key: 'iifkind', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: Buffer.from(kind).toString('hex').padEnd(32, '0') },
  ];
}

/** `iif 7`, `iif != 7`. */
export function interfaceIs(key: 'iif' | 'oif', index: number, invert = false): Expr[] {
  return [
    { kind: 'meta', key, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: invert ? 'neq' : 'eq', data: littleEndian32(index) },
  ];
}

/** `iif @set`, a set of interface indices. */
export function interfaceIn(key: 'iif' | 'oif', set: string, invert = false): Expr[] {
  return [
    { kind: 'meta', key, dreg: FIRST_REGISTER },
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert },
  ];
}

/** PACKET_* of `linux/if_packet.h`: the receiver of the frame that the packet arrived in. */
export const PACKET_TYPE = { host: 0, broadcast: 1, multicast: 2, other: 3 } as const;

/** `meta pkttype broadcast`, `meta pkttype != host`. */
export function packetTypeIs(type: keyof typeof PACKET_TYPE, invert = false): Expr[] {
  return [
    { kind: 'meta', key: 'pkttype', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: invert ? 'neq' : 'eq', data: toHex([PACKET_TYPE[type]]) },
  ];
}

/**
 * `fib saddr . iif oif missing`: the node has no route to the source address by the interface at which the packet
 * arrived.
 */
export function noRouteBack(): Expr[] {
  return [
    { kind: 'fib', result: 'exists', flags: ['saddr', 'iif'], dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: littleEndian32(0) },
  ];
}
