/** Parses an IPv4 or IPv6 packet as far as is needed to find DNS in it. The bytes are untrusted: it never throws. */

import { readUint16, readUint32 } from '../lib/text/words.ts';
import { type Address, addressFromBytes } from '../model/address.ts';
import { type IpPacket, readIpPacket } from '../model/ippacket.ts';
import { PROTOCOL_NUMBER } from '../model/ipprotocol.ts';

export interface Transport {
  readonly from: Address;
  readonly to: Address;
  readonly sourcePort: number;
  readonly port: number;
  readonly payload: Uint8Array;
  /** Absent for UDP. */
  readonly tcp?: { readonly sequence: number; readonly syn: boolean; readonly ends: boolean };
}

const { tcp: TCP, udp: UDP } = PROTOCOL_NUMBER;
const SYN = 2;
const FIN_OR_RST = 5;
/** The UDP header; of TCP the ports and the sequence number. */
const LEAST = 8;

/** Undefined if it is neither a whole UDP datagram nor a TCP segment: a fragment, another protocol, or too short. */
export function readPacket(bytes: Uint8Array): Transport | undefined {
  const found = readIpPacket(bytes);
  if (found === undefined || found.fragment !== undefined) return undefined;
  const body = bytes.subarray(found.at, Math.min(bytes.length, found.end));
  if (body.length < LEAST) return undefined;
  if (found.number === TCP) return readTcp(found, body);
  if (found.number !== UDP) return undefined;
  const end = Math.max(LEAST, Math.min(readUint16(body, 4) || body.length, body.length));
  return { ...endsOf(found, body), payload: body.subarray(LEAST, end) };
}

function readTcp(found: IpPacket, body: Uint8Array): Transport | undefined {
  const header = ((body[12] ?? 0) >> 4) * 4;
  if (header < 20 || header > body.length) return undefined;
  const flags = body[13]!;
  const sequence = readUint32(body, 4);
  const tcp = { sequence, syn: (flags & SYN) !== 0, ends: (flags & FIN_OR_RST) !== 0 };
  return { ...endsOf(found, body), payload: body.subarray(header), tcp };
}

function endsOf({ from, to }: IpPacket, body: Uint8Array) {
  const [source, target] = [addressFromBytes(from), addressFromBytes(to)];
  return { from: source, to: target, sourcePort: readUint16(body, 0), port: readUint16(body, 2) };
}
