/** Packets that no honest stack sends, made of honest ones. All begin with their IP header. */
import { internetChecksum } from '../../../bench/lab/probe/checksum.ts';

const V6_HEADER = 40;
export const EXTENSION = { hopByHop: 0, routing: 43, fragment: 44, ah: 51, destination: 60 } as const;

export function isV4(packet: Uint8Array): boolean {
  return packet[0]! >> 4 === 4;
}

/** What is behind the IP header. */
export function transportOf(packet: Uint8Array): Uint8Array {
  return packet.subarray(isV4(packet) ? (packet[0]! & 15) * 4 : V6_HEADER);
}

export function protocolOf(packet: Uint8Array): number {
  return packet[isV4(packet) ? 9 : 6]!;
}

/** With as many hops left. */
export function withHops(packet: Uint8Array, hops: number): Uint8Array {
  return edited(packet, bytes => {
    bytes[isV4(bytes) ? 8 : 7] = hops;
  });
}

/** Another payload, and its length. */
export function withTransport(
  packet: Uint8Array,
  transport: Uint8Array,
  protocol = protocolOf(packet),
): Uint8Array {
  const header = packet.subarray(0, packet.length - transportOf(packet).length);
  return edited(Buffer.concat([header, transport]), bytes => {
    if (isV4(bytes)) bytes.writeUInt16BE(bytes.length, 2);
    else bytes.writeUInt16BE(bytes.length - V6_HEADER, 4);
    bytes[isV4(bytes) ? 9 : 6] = protocol;
  });
}

/** A datagram that is long enough to be cut, without a checksum. */
export function lengthened(datagram: Uint8Array): Uint8Array {
  const transport = Buffer.concat([transportOf(datagram), Buffer.alloc(40, 7)]);
  transport.writeUInt16BE(transport.length, 4);
  transport.writeUInt16BE(0, 6);
  return withTransport(datagram, transport);
}

/** Cut off behind `bytes` of what is behind the IP header. */
export function truncated(packet: Uint8Array, bytes: number): Uint8Array {
  return withTransport(packet, transportOf(packet).subarray(0, bytes));
}

/** IPv6 extension headers in front of the payload, in that order: of eight bytes each, or AH of 24. */
export function withExtensions(packet: Uint8Array, kinds: readonly number[]): Uint8Array {
  const last = protocolOf(packet);
  const headers = kinds.map((kind, at) => extension(kind, kinds[at + 1] ?? last));
  return withTransport(packet, Buffer.concat([...headers, transportOf(packet)]), kinds[0]!);
}

function extension(kind: number, next: number): Uint8Array {
  // RFC 4302: the length is in words of four bytes, less two.
  if (kind === EXTENSION.ah) return Uint8Array.from([next, 4, ...new Array(22).fill(1)]);
  // RFC 8200: type 0 of routing with nothing left is passed over; options are one PadN of four bytes.
  if (kind === EXTENSION.routing) return Uint8Array.of(next, 0, 4, 0, 0, 0, 0, 0);
  if (kind === EXTENSION.fragment) return Uint8Array.of(next, 0, 0, 0, 0, 0, 0, 7);
  return Uint8Array.of(next, 0, 1, 4, 0, 0, 0, 0);
}

/** IPv4 options: `bytes` is padded to a multiple of four with ends of the list. */
export function withOptions(packet: Uint8Array, bytes: readonly number[]): Uint8Array {
  const options = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  options.set(bytes);
  const whole = Buffer.concat([packet.subarray(0, 20), options, packet.subarray(20)]);
  return edited(whole, all => {
    all[0] = 0x40 | (5 + options.length / 4);
    all.writeUInt16BE(all.length, 2);
  });
}

/** Pieces of `size` bytes (a multiple of eight) of what is behind the header. */
export function fragmentsOf(packet: Uint8Array, size: number): Uint8Array[] {
  const whole = transportOf(packet);
  const count = Math.ceil(whole.length / size);
  return Array.from({ length: count }, (_, at) => {
    const piece = whole.subarray(at * size, (at + 1) * size);
    const field = (at * size) | (at === count - 1 ? 0 : isV4(packet) ? 0 : 1);
    if (!isV4(packet)) {
      const header = Buffer.from(extension(EXTENSION.fragment, protocolOf(packet)));
      header.writeUInt16BE(field, 2);
      return withTransport(packet, Buffer.concat([header, piece]), EXTENSION.fragment);
    }
    return edited(withTransport(packet, piece), bytes => {
      bytes.writeUInt16BE(7, 4);
      bytes.writeUInt16BE((at * size) / 8 + (at === count - 1 ? 0 : 0x2000), 6);
    });
  });
}

/**
 * The same packet of IPv6 in two pieces, of which the first ends before it says what it carries: behind the header of the
 * pieces are two lists of options, and one of them in each piece. What is between its header and ICMPv6 stays in front.
 */
export function hiddenInPieces(packet: Uint8Array, identification: number): Uint8Array[] {
  const [front, next, rest] = partsOf(packet);
  const lists = [EXTENSION.destination, next].map(after => extension(EXTENSION.destination, after));
  const hidden = Buffer.concat([lists[1]!, rest]);
  const piece = (bytes: Uint8Array, field: number) => {
    const header = Buffer.from(extension(EXTENSION.fragment, EXTENSION.destination));
    header.writeUInt16BE(field, 2);
    header.writeUInt32BE(identification, 4);
    return behind(packet, front, EXTENSION.fragment, Buffer.concat([header, bytes]));
  };
  return [piece(lists[0]!, 1), piece(hidden, lists[0]!.length)];
}

/** Hop-by-hop options, if there are some, the number of what follows, and that. */
function partsOf(packet: Uint8Array): [front: Uint8Array, next: number, rest: Uint8Array] {
  const all = transportOf(packet);
  const isFirst = protocolOf(packet) === EXTENSION.hopByHop;
  return isFirst
    ? [all.subarray(0, 8), all[0]!, all.subarray(8)]
    : [all.subarray(0, 0), protocolOf(packet), all];
}

function behind(packet: Uint8Array, front: Uint8Array, kind: number, rest: Uint8Array): Uint8Array {
  if (front.length === 0) return withTransport(packet, rest, kind);
  const options = Buffer.from(front);
  options[0] = kind;
  return withTransport(packet, Buffer.concat([options, rest]));
}

/**
 * Two pieces of `whole` behind 240 bytes of options, so that the last header before that of the pieces begins 272 bytes
 * behind the start, which is 16 for whoever counts in a byte: there is the sender's ninth byte, and the kernel puts
 * `byte` there (nf_ct_frag6_reasm). `whole` is what the changed sender would send.
 */
export function changedByReassembly(own: Uint8Array, whole: Uint8Array, byte: number): Uint8Array[] {
  const options = Buffer.concat([
    manyOptions(EXTENSION.destination, 232),
    manyOptions(EXTENSION.fragment, 8),
  ]);
  // The number in the last of the options stays that of a piece, so one that is whole is what it means.
  const content = Buffer.concat([extension(EXTENSION.fragment, protocolOf(whole)), transportOf(whole)]);
  return [content.subarray(0, 8), content.subarray(8)].map((bytes, at) => {
    const header = Buffer.from([byte, 0, 0, at === 0 ? 1 : 8, 0, 0, 0, 77]);
    return withTransport(own, Buffer.concat([options, header, bytes]), EXTENSION.destination);
  });
}

/** One option of a kind that may be passed over. */
function manyOptions(next: number, length: number): Uint8Array {
  const bytes = Buffer.alloc(length);
  bytes.set([next, length / 8 - 1, 0x1e, length - 4]);
  return bytes;
}

/** `inner` behind an outer header and whatever is between them, as protocol `protocol` of the outer packet. */
export function encapsulated(
  outer: Uint8Array,
  protocol: number,
  between: Uint8Array,
  inner: Uint8Array,
): Uint8Array {
  return withTransport(outer, Buffer.concat([between, inner]), protocol);
}

/** An ICMP or ICMPv6 message in the place of the payload, with its checksum. */
export function withIcmp(packet: Uint8Array, message: readonly number[]): Uint8Array {
  const bytes = Buffer.from([...message]);
  bytes.writeUInt16BE(0, 2);
  const isIcmp = isV4(packet);
  const pseudo = Buffer.concat([
    packet.subarray(8, V6_HEADER),
    Buffer.from([0, 0, bytes.length >> 8, bytes.length & 255, 0, 0, 0, 58]),
  ]);
  bytes.writeUInt16BE(internetChecksum(isIcmp ? bytes : Buffer.concat([pseudo, bytes])), 2);
  return withTransport(packet, bytes, isIcmp ? 1 : 58);
}

function edited(packet: Uint8Array, edit: (bytes: Buffer) => void): Uint8Array {
  const bytes = Buffer.from(packet);
  edit(bytes);
  if (isV4(bytes)) {
    const length = (bytes[0]! & 15) * 4;
    bytes.writeUInt16BE(0, 10);
    bytes.writeUInt16BE(internetChecksum(bytes.subarray(0, length)), 10);
  }
  return bytes;
}
