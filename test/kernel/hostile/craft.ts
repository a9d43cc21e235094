/** Packets that no honest stack sends, made of honest ones. All begin with their IP header. */
import { internetChecksum } from '../../../src/lab/probe/checksum.ts';

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
