/** Builders for matches of Ethernet frames in the bridge table: their type, and the sender that they state. */
import type { Family } from '../model/address.ts';
import { bigEndian16, FIRST_REGISTER, toHex } from './match.ts';
import type { Expr } from './ruleset.ts';

/** `linux/if_ether.h`. A frame with a VLAN tag has the type of the tag. */
export const ETHER_TYPE = { ip: [0x08, 0x00], arp: [0x08, 0x06], ip6: [0x86, 0xdd] } as const;

/** `ether type arp`. */
export function etherTypeIs(type: keyof typeof ETHER_TYPE): Expr[] {
  return [
    { kind: 'payload', base: 'link', offset: 12, length: 2, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: toHex(ETHER_TYPE[type]) },
  ];
}

/**
 * `ether daddr & ff:ff:ff:ff:ff:f0 == 01:80:c2:00:00:00`: addressed to the bridge itself, which never forwards such
 * frames (802.1D).
 */
export function forBridgeItself(): Expr[] {
  return [
    { kind: 'payload', base: 'link', offset: 0, length: 6, dreg: FIRST_REGISTER },
    {
      kind: 'bitwise',
      sreg: FIRST_REGISTER,
      dreg: FIRST_REGISTER,
      mask: 'fffffffffff0',
      xor: '000000000000',
    },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: '0180c2000000' },
  ];
}

/** `ether daddr @set`. */
export function frameIsTo(set: string): Expr[] {
  return [
    { kind: 'payload', base: 'link', offset: 0, length: 6, dreg: FIRST_REGISTER },
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false },
  ];
}

/**
 * `iif . ether saddr @set`, `iif . arp saddr ether @set`: the port and the hardware address from which it sends, or
 * claims to send.
 */
export function hardwareSenderIn(claim: 'ether saddr' | 'arp saddr ether', set: string): Expr[] {
  const place = {
    base: claim === 'ether saddr' ? 'link' : 'network',
    offset: claim === 'ether saddr' ? 6 : 8,
  } as const;
  return [
    { kind: 'meta', key: 'iif', dreg: FIRST_REGISTER },
    { kind: 'payload', ...place, length: 6, dreg: FIRST_REGISTER + 1 },
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false },
  ];
}

/** `arp operation 1-2`: a request or a reply (RFC 826). */
export function isArpRequestOrReply(): Expr[] {
  return [
    { kind: 'payload', base: 'network', offset: 6, length: 2, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'gte', data: bigEndian16(1) },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'lte', data: bigEndian16(2) },
  ];
}

/**
 * The address that a frame gives as its sender's, beside the hardware address: for ARP the sender, and for an ARP probe
 * the address that it is about; for a neighbour advertisement or solicitation likewise.
 */
export type Claim = 'ip saddr' | 'ip6 saddr' | 'arp saddr ip' | 'arp daddr ip' | 'advertised';

const CLAIMS: Readonly<Record<Claim, Pick<Expr & { kind: 'payload' }, 'base' | 'offset'>>> = {
  'ip saddr': { base: 'network', offset: 12 },
  'ip6 saddr': { base: 'network', offset: 8 },
  'arp saddr ip': { base: 'network', offset: 14 },
  'arp daddr ip': { base: 'network', offset: 24 },
  // RFC 4861, 4.3 and 4.4: the target of a neighbour solicitation and advertisement.
  advertised: { base: 'transport', offset: 8 },
};

/** `iif . ether saddr . ip saddr @set`. */
export function senderIn(family: Family, claim: Claim, set: string): Expr[] {
  const length = family === 'ip' ? 4 : 16;
  return [
    { kind: 'meta', key: 'iif', dreg: FIRST_REGISTER },
    { kind: 'payload', base: 'link', offset: 6, length: 6, dreg: FIRST_REGISTER + 1 },
    { kind: 'payload', ...CLAIMS[claim], length, dreg: FIRST_REGISTER + 3 },
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false },
  ];
}

/** `arp saddr ip 0.0.0.0`, `ip6 saddr ::`: the sender has no address yet. */
export function senderIsUnspecified(type: 'arp' | 'ip6'): Expr[] {
  const length = type === 'arp' ? 4 : 16;
  const place = CLAIMS[type === 'arp' ? 'arp saddr ip' : 'ip6 saddr'];
  return [
    { kind: 'payload', ...place, length, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: '00'.repeat(length) },
  ];
}
