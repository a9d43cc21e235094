/**
 * Parses the headers of an IPv4 or IPv6 packet. The bytes are untrusted and may be cut off anywhere: it never throws.
 */
import { readUint16 } from '../lib/text/words.ts';

export interface IpPacket {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** The protocol behind the IPv6 extension headers that were parsed. */
  readonly number: number;
  /** The offset at which that protocol's header begins. */
  readonly at: number;
  /** The end of the packet according to its header; it may be beyond the bytes that were copied. */
  readonly end: number;
  /** Whether it is the first fragment of a packet, or a later one, which has no ports; undefined for a whole packet. */
  readonly fragment: 'first' | 'later' | undefined;
  /** Whether the transport header is beyond the copied bytes: `number` is then that of the next extension header. */
  readonly isCut: boolean;
}

/** IANA numbers of IPv6 extension headers. */
const HEADER = { hopByHop: 0, routing: 43, fragment: 44, ah: 51, destinationOptions: 60 } as const;
/** The most extension headers that are parsed: as many as fit into the bytes that the rules copy. */
const MOST_EXTENSIONS = 16;

/** Undefined if it is neither IPv4 nor IPv6, or ends before its addresses. */
export function readIpPacket(bytes: Uint8Array): IpPacket | undefined {
  const version = (bytes[0] ?? 0) >> 4;
  if (version === 4) return readV4(bytes);
  return version === 6 ? readV6(bytes) : undefined;
}

function readV4(bytes: Uint8Array): IpPacket | undefined {
  if (bytes.length < 20) return undefined;
  return {
    from: bytes.subarray(12, 16),
    to: bytes.subarray(16, 20),
    number: bytes[9]!,
    at: Math.max(20, (bytes[0]! & 15) * 4),
    end: readUint16(bytes, 2),
    fragment: fragmentOf(readUint16(bytes, 6), 0x1fff, 0x2000),
    isCut: false,
  };
}

/** RFC 8200 4; AH (RFC 4302) gives its length in words of four bytes. */
function readV6(bytes: Uint8Array): IpPacket | undefined {
  if (bytes.length < 40) return undefined;
  const length = readUint16(bytes, 4); // zero if the packet is a batch of segments (GSO)
  let number = bytes[6]!;
  let at = 40;
  let fragment: IpPacket['fragment'];
  for (let i = 0; i < MOST_EXTENSIONS && isExtension(number) && at + 8 <= bytes.length; i++) {
    const length = bytes[at + 1]!;
    if (number === HEADER.fragment) fragment = fragmentOf(readUint16(bytes, at + 2), 0xfff8, 1);
    const size = number === HEADER.fragment ? 8 : number === HEADER.ah ? (length + 2) * 4 : (length + 1) * 8;
    number = bytes[at]!;
    at += size;
    if (fragment === 'later') break;
  }
  return {
    from: bytes.subarray(8, 24),
    to: bytes.subarray(24, 40),
    number,
    at,
    end: length === 0 ? bytes.length : 40 + length,
    fragment,
    isCut: isExtension(number),
  };
}

/** A packet that begins at offset 0 and has no more fragments is whole. */
function fragmentOf(field: number, offset: number, more: number): IpPacket['fragment'] {
  if ((field & offset) !== 0) return 'later';
  return (field & more) === 0 ? undefined : 'first';
}

function isExtension(number: number): boolean {
  return EXTENSIONS.has(number);
}

const EXTENSIONS: ReadonlySet<number> = new Set(Object.values(HEADER));
