/**
 * Parses the first bytes of a packet: source, destination and protocol. Hostile hosts send these bytes, and they may be
 * cut: it never throws, and reads no more than a few headers.
 */

import { readUint16, readUint32 } from '../../lib/text/words.ts';
import { type Address, addressFromBytes } from '../../model/address.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import { isIcmpError } from '../../model/icmperrors.ts';
import { type IpPacket, readIpPacket } from '../../model/ippacket.ts';
import { flowProtocol, PROTOCOL_NUMBER } from '../../model/ipprotocol.ts';

export interface PacketHead {
  readonly from: Address;
  readonly to: Address;
  readonly protocol: FlowProtocol;
  /** The ports of TCP, UDP and SCTP, if they are among the copied bytes. */
  readonly sourcePort?: number;
  readonly port?: number;
  readonly tcp?: { readonly flags: number; readonly sequence: number };
  /** The type of the first chunk. */
  readonly sctp?: { readonly chunk: number };
  readonly icmp?: {
    readonly type: number;
    readonly code: number;
    /** The identifier of an echo request or reply. */
    readonly id?: number;
    /** The packet that an error is about. */
    readonly about?: PacketHead;
  };
  readonly fragment?: IpPacket['fragment'];
  /**
   * The packet has more headers than were copied: its protocol is unknown, and `protocol` is the type of the last
   * header that was read.
   */
  readonly cut?: true;
}

/** Undefined where it is neither IPv4 nor IPv6, or ends before its addresses. */
export function readHead(bytes: Uint8Array): PacketHead | undefined {
  return readPacket(bytes, true);
}

/** `outer`: false for a packet quoted in an ICMP error, which is not searched for a further quoted packet. */
function readPacket(bytes: Uint8Array, outer: boolean): PacketHead | undefined {
  const found = readIpPacket(bytes);
  if (found === undefined) return undefined;
  const { from, to, number, at, fragment, isCut } = found;
  const protocol = flowProtocol(number);
  const ends = {
    from: addressFromBytes(from),
    to: addressFromBytes(to),
    protocol,
    ...(fragment !== undefined && { fragment }),
  };
  if (fragment === 'later') return ends;
  if (isCut) return { ...ends, cut: true };
  return { ...ends, ...transport(number, bytes.subarray(at), outer) };
}

const { icmp, icmpv6, tcp, udp, sctp } = PROTOCOL_NUMBER;

type Transport = Pick<PacketHead, 'sourcePort' | 'port' | 'tcp' | 'sctp' | 'icmp'>;

function transport(number: number, body: Uint8Array, outer: boolean): Transport {
  if (number === icmp || number === icmpv6) return readIcmp(body, number === icmpv6, outer);
  if (number !== tcp && number !== udp && number !== sctp) return {};
  if (body.length < 4) return {};
  const ports = { sourcePort: readUint16(body, 0), port: readUint16(body, 2) };
  if (number === sctp && body.length > 12) return { ...ports, sctp: { chunk: body[12]! } };
  if (number !== tcp || body.length < 14) return ports;
  return { ...ports, tcp: { flags: body[13]! & 0x3f, sequence: readUint32(body, 4) } };
}

/** RFC 792, RFC 4443: echo request and reply; and errors, which quote the packet that caused them after eight bytes. */
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
      ...(isEcho && body.length >= 6 && { id: readUint16(body, 4) }),
      ...(about !== undefined && { about }),
    },
  };
}
