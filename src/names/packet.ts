/** An IPv4 or IPv6 packet as far as it takes to find the DNS in it. Reads what hostile hosts send: never throws. */

import { longWord, word } from '../lib/text/words.ts';
import { type Address, addressFromBytes } from '../model/address.ts';

export interface Transport {
  readonly from: Address;
  readonly to: Address;
  readonly sourcePort: number;
  readonly port: number;
  readonly payload: Uint8Array;
  /** Of TCP alone. */
  readonly tcp?: { readonly sequence: number; readonly syn: boolean; readonly ends: boolean };
}

const TCP = 6;
const UDP = 17;
/** Hop-by-hop options, routing, destination options (RFC 8200 4). */
const EXTENSIONS: readonly number[] = [0, 43, 60];
const MOST_EXTENSIONS = 8;
const SYN = 2;
const FIN_OR_RST = 5;

/** Undefined where it is no whole UDP datagram and no TCP segment: a fragment, another protocol, too short. */
export function readPacket(bytes: Uint8Array): Transport | undefined {
  const version = (bytes[0] ?? 0) >> 4;
  const found = version === 4 ? readV4(bytes) : version === 6 ? readV6(bytes) : undefined;
  if (found === undefined) return undefined;
  const { protocol, body } = found;
  if (protocol === UDP && body.length >= 8)
    return {
      ...endsOf(found),
      payload: body.subarray(8, Math.max(8, Math.min(word(body, 4) || body.length, body.length))),
    };
  return protocol === TCP ? readTcp(found) : undefined;
}

interface Found {
  readonly protocol: number;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** From the transport header on. */
  readonly body: Uint8Array;
}

function readV4(bytes: Uint8Array): Found | undefined {
  const header = (bytes[0]! & 15) * 4;
  const end = Math.min(bytes.length, word(bytes, 2));
  const isFragment = (word(bytes, 6) & 0x3fff) !== 0;
  if (header < 20 || end < header + 8 || isFragment) return undefined;
  return {
    protocol: bytes[9]!,
    from: bytes.subarray(12, 16),
    to: bytes.subarray(16, 20),
    body: bytes.subarray(header, end),
  };
}

function readV6(bytes: Uint8Array): Found | undefined {
  if (bytes.length < 48) return undefined;
  const length = word(bytes, 4); // none where it is one of many segments (GSO)
  const end = length === 0 ? bytes.length : Math.min(bytes.length, 40 + length);
  let protocol = bytes[6]!;
  let at = 40;
  for (let i = 0; i < MOST_EXTENSIONS && EXTENSIONS.includes(protocol) && at + 8 <= end; i++) {
    protocol = bytes[at]!;
    at += (bytes[at + 1]! + 1) * 8;
  }
  if (at + 8 > end) return undefined;
  return { protocol, from: bytes.subarray(8, 24), to: bytes.subarray(24, 40), body: bytes.subarray(at, end) };
}

function readTcp(found: Found): Transport | undefined {
  const { body } = found;
  const header = ((body[12] ?? 0) >> 4) * 4;
  if (header < 20 || header > body.length) return undefined;
  const flags = body[13]!;
  const sequence = longWord(body, 4);
  const tcp = { sequence, syn: (flags & SYN) !== 0, ends: (flags & FIN_OR_RST) !== 0 };
  return { ...endsOf(found), payload: body.subarray(header), tcp };
}

function endsOf({ from, to, body }: Found) {
  const [source, target] = [addressFromBytes(from), addressFromBytes(to)];
  return { from: source, to: target, sourcePort: word(body, 0), port: word(body, 2) };
}
