/**
 * The first bytes of a packet: who sends what to whom. Reads what hostile hosts send, and as much of it as was copied:
 * never throws, and looks at no more than a few headers.
 */

import { longWord, word } from '../../lib/text/words.ts';
import { type Address, addressFromBytes } from '../../model/address.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import { isIcmpError } from '../../model/icmperrors.ts';
import { flowProtocol, PROTOCOL_NUMBER } from '../../model/ipprotocol.ts';

export interface PacketHead {
  readonly from: Address;
  readonly to: Address;
  readonly protocol: FlowProtocol;
  /** Of TCP, UDP and SCTP, where they were in the bytes. */
  readonly sourcePort?: number;
  readonly port?: number;
  readonly tcp?: { readonly flags: number; readonly sequence: number };
  /** The type of the first chunk. */
  readonly sctp?: { readonly chunk: number };
  readonly icmp?: {
    readonly type: number;
    readonly code: number;
    /** Of an echo. */
    readonly id?: number;
    /** The packet that an error is about. */
    readonly about?: PacketHead;
  };
  /** A part of a packet: the first, or one that has no ports in it. */
  readonly fragment?: 'first' | 'later';
  /** It has more headers than were copied: nobody knows its protocol, which is that of the last that was read. */
  readonly cut?: true;
}

/** IANA numbers of IPv6 extension headers. */
const HEADER = { hopByHop: 0, routing: 43, fragment: 44, ah: 51, destinationOptions: 60 } as const;
/** As many as are in what the rules hand over. */
const MOST_EXTENSIONS = 16;

/** Undefined where it is neither IPv4 nor IPv6, or ends before its addresses. */
export function readHead(bytes: Uint8Array): PacketHead | undefined {
  return readPacket(bytes, true);
}

/** `outer`: a packet of which an error tells is not looked into for another. */
function readPacket(bytes: Uint8Array, outer: boolean): PacketHead | undefined {
  const version = (bytes[0] ?? 0) >> 4;
  const found = version === 4 ? readV4(bytes) : version === 6 ? readV6(bytes) : undefined;
  if (found === undefined) return undefined;
  const { from, to, number, body, fragment, isCut } = found;
  const protocol = flowProtocol(number);
  const ends = {
    from: addressFromBytes(from),
    to: addressFromBytes(to),
    protocol,
    ...(fragment !== undefined && { fragment }),
  };
  if (fragment === 'later') return ends;
  if (isCut) return { ...ends, cut: true };
  return { ...ends, ...transport(number, body, outer) };
}

interface Found {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** Of the protocol. */
  readonly number: number;
  /** From the transport header on, as far as it was copied. */
  readonly body: Uint8Array;
  readonly fragment: PacketHead['fragment'];
  /** The transport header is behind what was copied. */
  readonly isCut: boolean;
}

function readV4(bytes: Uint8Array): Found | undefined {
  if (bytes.length < 20) return undefined;
  const header = Math.max(20, (bytes[0]! & 15) * 4);
  return {
    from: bytes.subarray(12, 16),
    to: bytes.subarray(16, 20),
    number: bytes[9]!,
    body: bytes.subarray(header),
    fragment: fragmentOf(word(bytes, 6), 0x1fff, 0x2000),
    isCut: false,
  };
}

/** RFC 8200 4; AH (RFC 4302) counts its length in words of four bytes. */
function readV6(bytes: Uint8Array): Found | undefined {
  if (bytes.length < 40) return undefined;
  let number = bytes[6]!;
  let at = 40;
  let fragment: PacketHead['fragment'];
  for (let i = 0; i < MOST_EXTENSIONS && isExtension(number) && at + 8 <= bytes.length; i++) {
    const length = bytes[at + 1]!;
    if (number === HEADER.fragment) fragment = fragmentOf(word(bytes, at + 2), 0xfff8, 1);
    const size = number === HEADER.fragment ? 8 : number === HEADER.ah ? (length + 2) * 4 : (length + 1) * 8;
    number = bytes[at]!;
    at += size;
    if (fragment === 'later') break;
  }
  return {
    from: bytes.subarray(8, 24),
    to: bytes.subarray(24, 40),
    number,
    body: bytes.subarray(at),
    fragment,
    isCut: isExtension(number),
  };
}

/** A packet of which this is the beginning and all is whole. */
function fragmentOf(field: number, offset: number, more: number): PacketHead['fragment'] {
  if ((field & offset) !== 0) return 'later';
  return (field & more) === 0 ? undefined : 'first';
}

function isExtension(number: number): boolean {
  return EXTENSIONS.has(number);
}

const EXTENSIONS: ReadonlySet<number> = new Set(Object.values(HEADER));

const { icmp, icmpv6, tcp, udp, sctp } = PROTOCOL_NUMBER;

type Transport = Pick<PacketHead, 'sourcePort' | 'port' | 'tcp' | 'sctp' | 'icmp'>;

function transport(number: number, body: Uint8Array, outer: boolean): Transport {
  if (number === icmp || number === icmpv6) return readIcmp(body, number === icmpv6, outer);
  if (number !== tcp && number !== udp && number !== sctp) return {};
  if (body.length < 4) return {};
  const ports = { sourcePort: word(body, 0), port: word(body, 2) };
  if (number === sctp && body.length > 12) return { ...ports, sctp: { chunk: body[12]! } };
  if (number !== tcp || body.length < 14) return ports;
  return { ...ports, tcp: { flags: body[13]! & 0x3f, sequence: longWord(body, 4) } };
}

/** RFC 792, RFC 4443: echo and its reply; errors, which have the packet that they are about behind eight bytes. */
function readIcmp(body: Uint8Array, isV6: boolean, outer: boolean): Transport {
  if (body.length < 2) return {};
  const [type, code] = [body[0]!, body[1]!];
  const isEcho = isV6 ? type === 128 || type === 129 : type === 8 || type === 0;
  const isError = isIcmpError(isV6 ? 'ip6' : 'ip', type);
  const about = isError && outer ? readPacket(body.subarray(8), false) : undefined;
  return {
    icmp: {
      type,
      code,
      ...(isEcho && body.length >= 6 && { id: word(body, 4) }),
      ...(about !== undefined && { about }),
    },
  };
}
