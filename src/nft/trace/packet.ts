/** Builds real packets, from the IP header on, with checksums that a kernel accepts: for traces and for raw sockets. */
import { type Address, addressBytes, familyOf } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import { ICMP_OF, PROTOCOL_NUMBER } from '../../model/ipprotocol.ts';
import { SCTP_INIT, TCP_FLAGS } from '../match.ts';

export { TCP_FLAGS };

export interface PacketFields extends Flow {
  /** The source port; 49152 by default. */
  readonly sourcePort?: number;
  /** The flags of a TCP segment; SYN by default. */
  readonly tcpFlags?: number;
  /** The type of an SCTP packet's chunk; INIT by default. */
  readonly sctpChunk?: number;
  /** The hop limit: 64 by default. */
  readonly hops?: number;
  /** The type of an ICMP or ICMPv6 message; echo request by default. */
  readonly icmpType?: number;
}

/** The first packet of a flow: SYN, INIT, echo request, an empty datagram, or eight zero bytes of another protocol. */
export function packet(fields: PacketFields): Uint8Array {
  const { from, to } = fields;
  if (familyOf(from) !== familyOf(to)) throw new TypeError(`${from} and ${to} are not of one family`);
  const protocol = protocolNumber(fields);
  const payload = PAYLOADS[protocol]?.(fields) ?? new Uint8Array(8);
  return concat(ipHeader(from, to, protocol, payload.length, fields.hops ?? 64), payload);
}

function protocolNumber({ from, protocol }: Flow): number {
  switch (protocol) {
    case 'TCP':
      return PROTOCOL_NUMBER.tcp;
    case 'UDP':
      return PROTOCOL_NUMBER.udp;
    case 'SCTP':
      return PROTOCOL_NUMBER.sctp;
    case 'ICMP':
      return PROTOCOL_NUMBER[ICMP_OF[familyOf(from)]];
    default:
      return protocol;
  }
}

function ipHeader(from: Address, to: Address, protocol: number, length: number, hops: number): Uint8Array {
  return familyOf(from) === 'ip'
    ? ipv4Header(from, to, protocol, length, hops)
    : ipv6Header(from, to, protocol, length, hops);
}

/** An IPv4 header (RFC 791) without options, with the flag "don't fragment". */
function ipv4Header(from: Address, to: Address, protocol: number, length: number, hops: number): Uint8Array {
  const header = concat(
    [0x45, 0, ...u16(20 + length), 0, 0, 0x40, 0, hops, protocol, 0, 0],
    addressBytes(from),
    addressBytes(to),
  );
  return withChecksum(header, 10, [header]);
}

/** An IPv6 header (RFC 8200) without extension headers. */
function ipv6Header(from: Address, to: Address, protocol: number, length: number, hops: number): Uint8Array {
  return concat([0x60, 0, 0, 0, ...u16(length), protocol, hops], addressBytes(from), addressBytes(to));
}

const PAYLOADS: Readonly<Record<number, (fields: PacketFields) => Uint8Array>> = {
  [PROTOCOL_NUMBER.tcp]: tcp,
  [PROTOCOL_NUMBER.udp]: udp,
  [PROTOCOL_NUMBER.sctp]: sctp,
  [PROTOCOL_NUMBER.icmp]: icmp,
  [PROTOCOL_NUMBER.icmpv6]: icmpv6,
};

/** A TCP header (RFC 9293) with sequence number 1, no options, and a full window. */
function tcp(fields: PacketFields): Uint8Array {
  const flags = fields.tcpFlags ?? TCP_FLAGS.syn;
  const acknowledged = flags & TCP_FLAGS.ack ? 1 : 0;
  const segment = [...ports(fields), 0, 0, 0, 1, 0, 0, 0, acknowledged, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0];
  return withChecksum(Uint8Array.from(segment), 16, pseudoHeader(fields, PROTOCOL_NUMBER.tcp, segment));
}

/** A UDP header (RFC 768). A checksum of zero would mean that there is none. */
function udp(fields: PacketFields): Uint8Array {
  const datagram = [...ports(fields), 0, 8, 0, 0];
  const bytes = withChecksum(
    Uint8Array.from(datagram),
    6,
    pseudoHeader(fields, PROTOCOL_NUMBER.udp, datagram),
  );
  if (bytes[6] === 0 && bytes[7] === 0) bytes.fill(0xff, 6, 8);
  return bytes;
}

/**
 * An SCTP packet (RFC 9260) with a single chunk, and verification tag 0 for an INIT. Chunks of all types have the
 * layout of an INIT here.
 */
function sctp(fields: PacketFields): Uint8Array {
  const type = fields.sctpChunk ?? SCTP_INIT;
  const tag = type === SCTP_INIT ? 0 : 1;
  const initiateTag = [0, 0, 0, 1];
  const credit = [0, 1, 0, 0];
  const streams = [0, 1, 0, 1];
  const firstNumber = [0, 0, 0, 1];
  const chunk = [type, 0, 0, 20, ...initiateTag, ...credit, ...streams, ...firstNumber];
  const bytes = concat([...ports(fields), 0, 0, 0, tag, 0, 0, 0, 0], chunk);
  new DataView(bytes.buffer).setUint32(8, crc32c(bytes), true);
  return bytes;
}

const ICMP_ECHO = 8;
const ICMPV6_ECHO = 128;

function icmp({ icmpType = ICMP_ECHO }: PacketFields): Uint8Array {
  const message = Uint8Array.of(icmpType, 0, 0, 0, 0, 1, 0, 1);
  return withChecksum(message, 2, [message]);
}

function icmpv6(fields: PacketFields): Uint8Array {
  const message = [fields.icmpType ?? ICMPV6_ECHO, 0, 0, 0, 0, 1, 0, 1];
  return withChecksum(Uint8Array.from(message), 2, pseudoHeader(fields, PROTOCOL_NUMBER.icmpv6, message));
}

function ports({ sourcePort = 49152, port = 0 }: PacketFields): number[] {
  return [...u16(sourcePort), ...u16(port)];
}

/** The pseudo-header of the checksum (RFC 9293 3.1, RFC 8200 8.1); the shorter form has the same sum. */
function pseudoHeader({ from, to }: Flow, protocol: number, payload: readonly number[]) {
  return [addressBytes(from), addressBytes(to), [0, protocol, ...u16(payload.length)], payload];
}

/** The checksum of RFC 1071, over parts of even length. */
function withChecksum(bytes: Uint8Array, at: number, parts: readonly ArrayLike<number>[]): Uint8Array {
  let sum = 0;
  for (const part of parts) for (let i = 0; i < part.length; i += 2) sum += (part[i]! << 8) | part[i + 1]!;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  bytes.set(u16(~sum & 0xffff), at);
  return bytes;
}

/** The checksum of SCTP (RFC 9260 appendix A): CRC32c with the Castagnoli polynomial, reflected. */
function crc32c(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

function u16(value: number): [number, number] {
  return [value >> 8, value & 0xff];
}

function concat(...parts: readonly ArrayLike<number>[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
