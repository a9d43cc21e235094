/** Builders for the rules that recognize DNS answers to pods, and for rules that change a dynamic set. */
import { addressBits } from '../model/address.ts';
import { PROTOCOL_NUMBER } from '../model/ipprotocol.ts';
import { bigEndian16, FIRST_REGISTER, littleEndian32, loadAddress, loadPort, toHex } from './match.ts';
import type { Expr, Family, QueueBy } from './ruleset.ts';

/** `ct direction reply`: the packet is a reply. */
export function isReply(): Expr[] {
  return ctDirectionIs('01');
}

/** `ct direction original`: the packet comes from the end that began the connection. */
export function isOriginal(): Expr[] {
  return ctDirectionIs('00');
}

/** IP_CT_DIR_ORIGINAL is 0 and IP_CT_DIR_REPLY is 1, in one byte (`linux/netfilter/nf_conntrack_tuple_common.h`). */
function ctDirectionIs(data: '00' | '01'): Expr[] {
  return [
    { kind: 'ct', key: 'direction', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data },
  ];
}

/** `ct original proto-dst 53`, for TCP and UDP: the protocol has to be matched before, or nft cannot list the rule. */
export function originalPortIs(port: number): Expr[] {
  return [
    { kind: 'ct', key: 'original proto-dst', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: bigEndian16(port) },
  ];
}

/** `ct original ip daddr @set`: the address that the connection was opened to, before any translation. */
export function originalDestinationIn(family: Family, set: string): Expr[] {
  return [
    { kind: 'ct', key: `original ${family} daddr`, dreg: FIRST_REGISTER },
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false },
  ];
}

/** `meta l4proto udp`, in both families. */
export function l4ProtocolIs(protocol: keyof typeof PROTOCOL_NUMBER): Expr[] {
  return [
    { kind: 'meta', key: 'l4proto', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: toHex([PROTOCOL_NUMBER[protocol]]) },
  ];
}

/** `meta mark != 0x534c5543`. */
export function markIsNot(mark: number): Expr[] {
  return [
    { kind: 'meta', key: 'mark', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'neq', data: littleEndian32(mark) },
  ];
}

/** `th sport 53`. */
export function sourcePortIs(port: number): Expr[] {
  return [
    loadPort('sport', FIRST_REGISTER),
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: bigEndian16(port) },
  ];
}

/** `th sport != @set`. */
export function sourcePortIn(set: string, invert = false): Expr[] {
  return [
    loadPort('sport', FIRST_REGISTER),
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert },
  ];
}

/** `th sport . th dport vmap @map`. */
export function portsVmap(map: string): Expr[] {
  return [
    loadPort('sport', FIRST_REGISTER),
    loadPort('dport', FIRST_REGISTER + 1),
    { kind: 'lookup', set: map, sreg: FIRST_REGISTER, vmap: true, invert: false },
  ];
}

export type DynsetChange = Pick<Expr & { kind: 'dynset' }, 'op' | 'set' | 'timeoutMs' | 'over'>;

/** `update @set { th dport timeout 2s }`. */
export function changeDestinationPort(change: DynsetChange): Expr[] {
  return [loadPort('dport', FIRST_REGISTER), { kind: 'dynset', ...change, sreg: FIRST_REGISTER }];
}

/** `update @set { ip daddr limit rate over 1000/second burst 2000 packets }`. */
export function changeDestination(family: Family, change: DynsetChange): Expr[] {
  return [loadAddress(family, 'daddr', FIRST_REGISTER), { kind: 'dynset', ...change, sreg: FIRST_REGISTER }];
}

/** `update @set { ip daddr . ip saddr timeout 10m }`. */
export function changeAddressPair(family: Family, change: DynsetChange): Expr[] {
  return [
    loadAddress(family, 'daddr', FIRST_REGISTER),
    loadAddress(family, 'saddr', FIRST_REGISTER + addressBits(family) / 32),
    { kind: 'dynset', ...change, sreg: FIRST_REGISTER },
  ];
}

/** `queue flags bypass to 53`. */
export function queueTo(number: number, by: QueueBy): Expr[] {
  return [{ kind: 'queue', number, by }];
}
