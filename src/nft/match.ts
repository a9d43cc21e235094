/** Builders for the expressions of our rules. One builder makes one match of nft, and each may use any register. */

import type { Rate } from '../lib/fairness/rates.ts';
import { addressBits, addressBytes, type Cidr } from '../model/address.ts';
import { ICMP_OF, PROTOCOL_NUMBER } from '../model/ipprotocol.ts';
import type { CmpOp, Expr, Family, FieldType, Hex, NftVerdict, Register } from './ruleset.ts';

export type L4Protocol = 'tcp' | 'udp' | 'sctp';

export type AddressField = 'saddr' | 'daddr';

/** `linux/netfilter/nf_conntrack_common.h`: NF_CT_STATE_BIT(x) = 1 << (x % 3 + 1). */
export const CT_STATE = { established: 2, related: 4, new: 8, untracked: 64 } as const;

/** Bits of `ct status`. `linux/netfilter/nf_conntrack_common.h`: IPS_SRC_NAT, IPS_DST_NAT. */
export const CT_STATUS = { snat: 0x10, dnat: 0x20 } as const;

/** Bits of the TCP header's flags, lowest first (RFC 9293). */
export const TCP_FLAGS = { fin: 1, syn: 2, rst: 4, psh: 8, ack: 16 } as const;

/** The register that matches of one field use. */
export const FIRST_REGISTER: Register = 0;

export const addressType = (family: Family): FieldType => (family === 'ip' ? 'ipv4_addr' : 'ipv6_addr');

/** `ct state established,related`. The state is a host-endian bit mask (little-endian on every machine we run on). */
export function ctStateAny(bits: number): Expr[] {
  return ctAny('state', bits);
}

/**
 * `ct status dnat`: the packet was sent to another address or port than it has now, for example to that of a Service.
 */
export function isTranslated(): Expr[] {
  return ctAny('status', CT_STATUS.dnat);
}

/** `ct status snat`: the connection's first packet left with another source address or port, as masquerading gives it. */
export function isSourceTranslated(): Expr[] {
  return ctAny('status', CT_STATUS.snat);
}

function ctAny(key: 'state' | 'status', bits: number): Expr[] {
  return [
    { kind: 'ct', key, dreg: FIRST_REGISTER },
    {
      kind: 'bitwise',
      sreg: FIRST_REGISTER,
      dreg: FIRST_REGISTER,
      mask: littleEndian32(bits),
      xor: '00000000',
    },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'neq', data: '00000000' },
  ];
}

/** RTN_* of `linux/rtnetlink.h`: the type of an address in the node's routing tables. */
export const ADDRESS_TYPE = {
  unspec: 0,
  unicast: 1,
  local: 2,
  broadcast: 3,
  anycast: 4,
  multicast: 5,
  blackhole: 6,
  unreachable: 7,
  prohibit: 8,
} as const;

/** `fib daddr type local`, `fib saddr type != unicast`. */
export function addressTypeIs(field: AddressField, type: keyof typeof ADDRESS_TYPE, invert = false): Expr[] {
  return [
    { kind: 'fib', result: 'type', flags: [field], dreg: FIRST_REGISTER },
    {
      kind: 'cmp',
      sreg: FIRST_REGISTER,
      op: invert ? 'neq' : 'eq',
      data: littleEndian32(ADDRESS_TYPE[type]),
    },
  ];
}

/** `ip saddr @set`, `ip daddr != @set`. */
export function addressIn(family: Family, field: AddressField, set: string, invert = false): Expr[] {
  return [
    loadAddress(family, field, FIRST_REGISTER),
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert },
  ];
}

/** `ip saddr vmap @map`. */
export function addressVmap(family: Family, field: AddressField, set: string): Expr[] {
  return [
    loadAddress(family, field, FIRST_REGISTER),
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: true, invert: false },
  ];
}

/** `ip saddr 10.0.0.0/8`, `ip daddr != 10.1.0.0/16`. A /0 matches every packet, so it needs no expression. */
export function addressInNetwork(cidr: Cidr, field: AddressField, invert = false): Expr[] {
  const bits = addressBits(cidr.family);
  if (cidr.prefix === 0 && !invert) return [];
  const masked: Expr[] =
    cidr.prefix === bits
      ? []
      : [
          {
            kind: 'bitwise',
            sreg: FIRST_REGISTER,
            dreg: FIRST_REGISTER,
            mask: prefixMask(cidr.prefix, bits),
            xor: '00'.repeat(bits / 8),
          },
        ];
  return [
    loadAddress(cidr.family, field, FIRST_REGISTER),
    ...masked,
    { kind: 'cmp', sreg: FIRST_REGISTER, op: invert ? 'neq' : 'eq', data: toHex(addressBytes(cidr.base)) },
  ];
}

/** `ip protocol tcp`; in the ip6 table `meta l4proto tcp`, which finds the protocol behind extension headers. */
export function protocolIs(family: Family, protocol: keyof typeof PROTOCOL_NUMBER): Expr[] {
  return protocolNumberIs(family, PROTOCOL_NUMBER[protocol]);
}

/** `th dport 1000-2000` as two compares (cheaper than the range expression), or one compare for a single port. */
export function destinationPort(first: number, last: number): Expr[] {
  const load = loadDestinationPort(FIRST_REGISTER);
  const compare = (op: CmpOp, port: number): Expr => ({
    kind: 'cmp',
    sreg: FIRST_REGISTER,
    op,
    data: bigEndian16(port),
  });
  return first === last ? [load, compare('eq', first)] : [load, compare('gte', first), compare('lte', last)];
}

/** `th dport @set`. */
export function destinationPortIn(set: string): Expr[] {
  return [
    { kind: 'payload', base: 'transport', offset: 2, length: 2, dreg: FIRST_REGISTER },
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false },
  ];
}

/** `ip protocol 47`, `meta l4proto != 58`. */
export function protocolNumberIs(family: Family, number: number, invert = false): Expr[] {
  const op = invert ? 'neq' : 'eq';
  return [
    loadProtocol(family, FIRST_REGISTER),
    { kind: 'cmp', sreg: FIRST_REGISTER, op, data: toHex([number]) },
  ];
}

/** `ip protocol . th dport vmap @map`. */
export function protocolPortVmap(family: Family, set: string): Expr[] {
  return [
    ...loadProtocolPort(family, FIRST_REGISTER),
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: true, invert: false },
  ];
}

/**
 * `th dport vmap @map`. An earlier match has to check the protocol, because other protocols have no port at that
 * offset.
 */
export function destinationPortVmap(set: string): Expr[] {
  return [
    loadDestinationPort(FIRST_REGISTER),
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: true, invert: false },
  ];
}

/** `ip daddr . ip protocol . th dport @set`. */
export function addressProtocolPortIn(family: Family, field: AddressField, set: string): Expr[] {
  return [
    loadAddress(family, field, FIRST_REGISTER),
    ...loadProtocolPort(family, FIRST_REGISTER + addressBits(family) / 32),
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false },
  ];
}

/** `ip saddr . ip daddr @set`. */
export function addressPairIn(family: Family, set: string): Expr[] {
  return [
    loadAddress(family, 'saddr', FIRST_REGISTER),
    loadAddress(family, 'daddr', FIRST_REGISTER + addressBits(family) / 32),
    { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false },
  ];
}

/** `dnat to ip protocol . th dport map @map`, of addresses and ports. */
export function redirectByPort(family: Family, map: string): Expr[] {
  const port = FIRST_REGISTER + addressBits(family) / 32;
  return [
    ...loadProtocolPort(family, FIRST_REGISTER),
    { kind: 'lookup', set: map, sreg: FIRST_REGISTER, vmap: false, invert: false, dreg: FIRST_REGISTER },
    { kind: 'nat', type: 'dnat', family, address: FIRST_REGISTER, port },
  ];
}

type ExprOf<Kind extends Expr['kind']> = Extract<Expr, { kind: Kind }>;

/** `limit rate over 20/second burst 40 packets`: matches packets that exceed the rate. */
export function limitOver(rate: Rate): Expr {
  return { kind: 'limit', ...rate, over: true };
}

/** Loads `ip saddr` into the register that `inSet` and `update` use. */
export function loadSource(family: Family): Expr {
  return loadAddress(family, 'saddr', FIRST_REGISTER);
}

/** Loads `meta iif` into the register that `inSet` and `update` use. */
export function loadInputInterface(): Expr {
  return { kind: 'meta', key: 'iif', dreg: FIRST_REGISTER };
}

/** `… @set`. */
export function inSet(set: string): Expr {
  return { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false };
}

/** `update @set { … }`; with `over`, `limit rate over 5/second …`: matches packets whose key exceeds the rate. */
export function update(set: string, how: Pick<ExprOf<'dynset'>, 'over' | 'timeoutMs'> = {}): Expr {
  return { kind: 'dynset', op: 'update', set, sreg: FIRST_REGISTER, ...how };
}

/** `log prefix "…" group 7 snaplen 128`. */
export function logTo(log: Omit<ExprOf<'log'>, 'kind'>): Expr {
  return { kind: 'log', ...log };
}

/** `masquerade`. */
export function masquerade(): Expr {
  return { kind: 'masq' };
}

/** `ip6 hoplimit != 255`, `ip ttl < 2`. */
export function hopsLeft(family: Family, op: CmpOp, hops: number): Expr[] {
  return [
    { kind: 'payload', base: 'network', offset: family === 'ip' ? 8 : 7, length: 1, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op, data: toHex([hops]) },
  ];
}

/** `icmpv6 type 134`, `icmp type 5`, `icmpv6 type != 134`. */
export function icmpTypeIs(family: Family, type: number, invert = false): Expr[] {
  return [
    ...protocolIs(family, ICMP_OF[family]),
    { kind: 'payload', base: 'transport', offset: 0, length: 1, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: invert ? 'neq' : 'eq', data: toHex([type]) },
  ];
}

/** `icmp type 3-5`, `icmpv6 type 130-132`. */
export function icmpTypesAre(family: Family, first: number, last: number): Expr[] {
  return [
    ...protocolIs(family, ICMP_OF[family]),
    { kind: 'payload', base: 'transport', offset: 0, length: 1, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'gte', data: toHex([first]) },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'lte', data: toHex([last]) },
  ];
}

/** `icmpv6 type 133-137`: neighbour discovery (N63). */
export function neighbourDiscovery(): Expr[] {
  return icmpTypesAre('ip6', 133, 137);
}

export function verdict(kind: 'accept' | 'drop' | 'return'): Expr;
export function verdict(kind: 'jump' | 'goto', chain: string): Expr;
export function verdict(kind: NftVerdict['kind'], chain?: string): Expr {
  return { kind: 'verdict', verdict: (chain === undefined ? { kind } : { kind, chain }) as NftVerdict };
}

// Offsets of the addresses in the fixed IPv4 and IPv6 headers.
const ADDRESS_OFFSET = { ip: { saddr: 12, daddr: 16 }, ip6: { saddr: 8, daddr: 24 } } as const;

export function loadAddress(family: Family, field: AddressField, dreg: Register): Expr {
  return {
    kind: 'payload',
    base: 'network',
    offset: ADDRESS_OFFSET[family][field],
    length: addressBits(family) / 8,
    dreg,
  };
}

// The header's own byte is 12 to 20 ns cheaper than `meta l4proto` (measured); IPv6 has no such byte to trust.
function loadProtocol(family: Family, dreg: Register): Expr {
  return family === 'ip'
    ? { kind: 'payload', base: 'network', offset: 9, length: 1, dreg }
    : { kind: 'meta', key: 'l4proto', dreg };
}

// Every field of a concatenation starts on a register of its own: the kernel pads each to four bytes.
function loadProtocolPort(family: Family, dreg: Register): Expr[] {
  return [loadProtocol(family, dreg), loadDestinationPort(dreg + 1)];
}

function loadDestinationPort(dreg: Register): Expr {
  return loadPort('dport', dreg);
}

export function loadPort(field: 'sport' | 'dport', dreg: Register): Expr {
  return { kind: 'payload', base: 'transport', offset: field === 'sport' ? 0 : 2, length: 2, dreg };
}

function prefixMask(prefix: number, bits: number): Hex {
  return toHex(Array.from({ length: bits / 8 }, (_, byte) => maskByte(prefix - byte * 8)));
}

function maskByte(bits: number): number {
  return bits >= 8 ? 0xff : bits <= 0 ? 0 : (0xff << (8 - bits)) & 0xff;
}

export function toHex(bytes: Iterable<number>): Hex {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
}

export function bigEndian16(value: number): Hex {
  return toHex([value >> 8, value & 0xff]);
}

export function littleEndian32(value: number): Hex {
  return toHex([value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, value >>> 24]);
}

/** The type of the chunk that opens an association (RFC 9260, 3.2). */
export const SCTP_INIT = 1;

/**
 * `tcp flags & (fin | syn | rst | ack) != syn`: all TCP packets that do not open a connection. The flags of explicit
 * congestion notification are masked out, because a SYN may have them.
 */
export function notOpeningTcp(family: Family): Expr[] {
  const { fin, syn, rst, ack } = TCP_FLAGS;
  return [
    ...protocolIs(family, 'tcp'),
    { kind: 'payload', base: 'transport', offset: 13, length: 1, dreg: FIRST_REGISTER },
    {
      kind: 'bitwise',
      sreg: FIRST_REGISTER,
      dreg: FIRST_REGISTER,
      mask: toHex([fin | syn | rst | ack]),
      xor: '00',
    },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'neq', data: toHex([syn]) },
  ];
}

/**
 * `sctp … @th,96,8 != 1`: all SCTP packets that do not begin with an INIT, which opens an association and has to be the
 * only chunk (RFC 9260, 3.3.2).
 */
export function notOpeningSctp(family: Family): Expr[] {
  return [
    ...protocolIs(family, 'sctp'),
    { kind: 'payload', base: 'transport', offset: 12, length: 1, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'neq', data: toHex([SCTP_INIT]) },
  ];
}

/** `ct state != new`. A packet has exactly one state. */
export function ctStateIsNot(state: keyof typeof CT_STATE): Expr[] {
  return [
    { kind: 'ct', key: 'state', dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'neq', data: littleEndian32(CT_STATE[state]) },
  ];
}

/** `icmp code 1`; the type has to be matched before. */
export function icmpCodeIs(code: number): Expr[] {
  return [
    { kind: 'payload', base: 'transport', offset: 1, length: 1, dreg: FIRST_REGISTER },
    { kind: 'cmp', sreg: FIRST_REGISTER, op: 'eq', data: toHex([code]) },
  ];
}

/** `update @set { ip saddr . ip saddr }`. */
export function rememberSender(family: Family, set: string): Expr[] {
  return [...beside(family, loadAddress(family, 'saddr', second(family))), update(set)];
}

/** `ip saddr . ct original ip saddr @set`: matches if the two addresses are equal and the set has the pair. */
export function senderIsConnectionEnd(family: Family, direction: 'original' | 'reply', set: string): Expr[] {
  const end: Expr = { kind: 'ct', key: `${direction} ${family} saddr`, dreg: second(family) };
  return [...beside(family, end), { kind: 'lookup', set, sreg: FIRST_REGISTER, vmap: false, invert: false }];
}

/** `ip saddr . …`. */
function beside(family: Family, other: Expr): Expr[] {
  return [loadAddress(family, 'saddr', FIRST_REGISTER), other];
}

function second(family: Family): number {
  return FIRST_REGISTER + addressBits(family) / 32;
}
