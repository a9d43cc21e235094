/** A frame's bytes, with checksums that a kernel accepts, and the tag by which it is known wherever it is heard. */
import { macBytes } from '../../../src/model/mac.ts';
import { changesOf } from './changes.ts';
import { nodeOf, overlayHardware, type Wiring } from './network.ts';
import { type Frame, hardwareOf, isPod, type Packet, type Place, type Wrap } from './packet.ts';

/** In front of the number of the frame. */
const MAGIC = Buffer.from([0xf2, 0xa9, 0x5c, 0xe3]);
const TAG_BYTES = 8;
const ETHERTYPE = { ip: 0x0800, ip6: 0x86dd } as const;
const HEADER = { ip: 20, ip6: 40 } as const;
const [ICMP, IP_IN_IP, TCP, UDP, V6_IN_IP, GRE, ICMPV6, SCTP] = [1, 4, 6, 17, 41, 47, 58, 132];
/** With ports where UDP has them: also DCCP and UDP-Lite. */
const WITH_PORTS = [33, 136];
const OVERLAYS = { vxlan: 8, geneve: 8, fou: 0, gue: 4 } as const;
const MOST_BYTES = 1480;

/** The numbers of the frames that are in what was heard. */
export function tagsIn(heard: Buffer): number[] {
  const found: number[] = [];
  for (let at = heard.indexOf(MAGIC); at >= 0; at = heard.indexOf(MAGIC, at + TAG_BYTES)) {
    if (at + TAG_BYTES > heard.length) break;
    const tag = heard.readUInt32BE(at + MAGIC.length);
    if (!found.includes(tag)) found.push(tag);
  }
  return found;
}

/** Whole frames: several where the packet is in pieces. Each is the caller's. */
export function bytesOf(frame: Frame, tag: number, wiring: Wiring): Uint8Array[] {
  const { content, by, types } = frame;
  const to = content.kind === 'packet' ? content.packet.to : content.kind === 'arp' ? content.to : undefined;
  const ends = [frame.toMac, frame.fromMac].flatMap(mac => macBytes(hardwareOf(mac, by, to, wiring)));
  const own =
    content.kind === 'packet'
      ? ETHERTYPE[content.packet.family]
      : content.kind === 'arp'
        ? 0x0806
        : content.type;
  const head = Buffer.from([
    ...ends,
    ...types.flatMap(type => [type >> 8, type & 255, 0, 0]),
    own >> 8,
    own & 255,
  ]);
  const bodies =
    content.kind === 'packet'
      ? packetBytes(content.packet, tag)
      : [
          content.kind === 'arp'
            ? arp(content, by, tag, wiring)
            : Buffer.concat([Buffer.from([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]), tagBytes(tag)]),
        ];
  return bodies.map(body => Buffer.concat([head, body]));
}

function tagBytes(tag: number): Buffer {
  const bytes = Buffer.alloc(TAG_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32BE(tag, MAGIC.length);
  return bytes;
}

function arp(
  { operation, from, to, senderMac }: Extract<Frame['content'], { kind: 'arp' }>,
  by: Frame['by'],
  tag: number,
  wiring: Wiring,
): Buffer {
  const sender = [...macBytes(hardwareOf(senderMac, by, to, wiring)), ...from.bytes.subarray(0, 4)];
  const body = [
    0,
    1,
    8,
    0,
    6,
    4,
    operation >> 8,
    operation & 255,
    ...sender,
    0,
    0,
    0,
    0,
    0,
    0,
    ...to.bytes.subarray(0, 4),
  ];
  return Buffer.concat([Buffer.from(body), tagBytes(tag)]);
}

const scratch = Buffer.alloc(16_384);

function packetBytes(packet: Packet, tag: number): Uint8Array[] {
  const end = writePacket(0, packet, tag);
  const whole = Buffer.from(scratch.subarray(0, end));
  return packet.change === 0 ? [whole] : changesOf(packet.family)[packet.change]!.make(whole, tag);
}

/** Answers where it ends. */
function writePacket(at: number, packet: Packet, tag: number): number {
  const { family, from, to, protocol, hops } = packet;
  const body = at + HEADER[family];
  const end = Math.min(writeBody(body, packet, tag), at + MOST_BYTES);
  if (family === 'ip') {
    scratch.fill(0, at, body);
    scratch[at] = 0x45;
    scratch.writeUInt16BE(end - at, at + 2);
    scratch.writeUInt16BE(tag & 0xffff, at + 4);
    scratch[at + 8] = hops;
    scratch[at + 9] = protocol;
    scratch.set(from.bytes, at + 12);
    scratch.set(to.bytes, at + 16);
    scratch.writeUInt16BE(checksum(at, body, 0), at + 10);
  } else {
    scratch.writeUInt32BE(0x60000000, at);
    scratch.writeUInt16BE(end - body, at + 4);
    scratch[at + 6] = protocol;
    scratch[at + 7] = hops;
    scratch.set(from.bytes, at + 8);
    scratch.set(to.bytes, at + 24);
  }
  return end;
}

function writeBody(at: number, packet: Packet, tag: number): number {
  const { from, to, protocol, inside } = packet;
  switch (protocol) {
    case UDP: {
      const end =
        inside === undefined
          ? writeTags(at + 8, packet, tag)
          : writeOverlay(at + 8, inside.by, inside.packet, tag);
      writePorts(at, packet);
      scratch.writeUInt16BE(end - at, at + 4);
      scratch.writeUInt16BE(0, at + 6);
      scratch.writeUInt16BE(checksum(at, end, pseudo(from, to, UDP, end - at)) || 0xffff, at + 6);
      return end;
    }
    case TCP: {
      writePorts(at, packet);
      scratch.fill(0, at + 4, at + 20);
      scratch.writeUInt32BE(0x1000, at + 4);
      scratch[at + 12] = 0x50;
      scratch[at + 13] = packet.tcpFlags;
      scratch.writeUInt16BE(0xffff, at + 14);
      const end = writeTags(at + 20, packet, tag);
      scratch.writeUInt16BE(checksum(at, end, pseudo(from, to, TCP, end - at)), at + 16);
      return end;
    }
    case SCTP:
      return writeSctp(at, packet, tag);
    case ICMP:
    case ICMPV6: {
      const end = writeIcmp(at, packet, tag);
      scratch.writeUInt16BE(0, at + 2);
      const start = protocol === ICMP ? 0 : pseudo(from, to, ICMPV6, end - at);
      scratch.writeUInt16BE(checksum(at, end, start), at + 2);
      return end;
    }
    case IP_IN_IP:
    case V6_IN_IP:
      return inside === undefined ? writeTags(at, packet, tag) : writePacket(at, inside.packet, tag);
    case GRE: {
      if (inside === undefined) return writeTags(at, packet, tag);
      const ethernet = inside.by === 'gre-ethernet';
      scratch.writeUInt32BE(ethernet ? 0x6558 : ETHERTYPE[inside.packet.family], at);
      return ethernet ? writeFrame(at + 4, inside.packet, tag) : writePacket(at + 4, inside.packet, tag);
    }
    default:
      if (!WITH_PORTS.includes(protocol)) return writeTags(at, packet, tag);
      writePorts(at, packet);
      scratch.fill(0, at + 4, at + 8);
      return writeTags(at + 8, packet, tag);
  }
}

function writeTags(at: number, { repeats }: Packet, tag: number): number {
  for (let i = 0; i < repeats; i++) {
    scratch.set(MAGIC, at + TAG_BYTES * i);
    scratch.writeUInt32BE(tag, at + TAG_BYTES * i + MAGIC.length);
  }
  return at + TAG_BYTES * repeats;
}

function writePorts(at: number, { sourcePort, port }: Packet): void {
  scratch.writeUInt16BE(sourcePort, at);
  scratch.writeUInt16BE(port, at + 2);
}

/** VXLAN (RFC 7348), Geneve (RFC 8926), FOU: the packet itself, GUE: its variant 0. */
function writeOverlay(at: number, by: Wrap | 'error', inner: Packet, tag: number): number {
  const length = OVERLAYS[by as keyof typeof OVERLAYS] ?? 0;
  scratch.fill(0, at, at + length);
  if (by === 'vxlan') {
    scratch[at] = 8;
    scratch[at + 6] = 1;
    return writeFrame(at + 8, inner, tag);
  }
  if (by === 'geneve') {
    scratch.writeUInt16BE(0x6558, at + 2);
    scratch[at + 6] = 1;
    return writeFrame(at + 8, inner, tag);
  }
  if (by === 'gue') scratch[at + 1] = inner.family === 'ip' ? IP_IN_IP! : V6_IN_IP!;
  return writePacket(at + length, inner, tag);
}

/** To the end of the tunnel at the receiver's node. */
function writeFrame(at: number, inner: Packet, tag: number): number {
  const { host } = inner.to;
  const node = host !== undefined && isPod(host) ? nodeOf(host) : 'n2';
  const other = node === 'n2' ? 'n1' : 'n2';
  scratch.set(macBytes(overlayHardware(node, inner.family)), at);
  scratch.set(macBytes(overlayHardware(other, inner.family)), at + 6);
  scratch.writeUInt16BE(ETHERTYPE[inner.family], at + 12);
  return writePacket(at + 14, inner, tag);
}

/** With what the types of neighbour discovery and of listeners have behind the first eight bytes. */
function writeIcmp(at: number, packet: Packet, tag: number): number {
  const [type, code] = packet.icmp;
  scratch[at] = type;
  scratch[at + 1] = code;
  scratch.writeUInt32BE(0x00010001, at + 4);
  if (packet.inside !== undefined) return Math.min(writePacket(at + 8, packet.inside.packet, tag), at + 1200);
  if (packet.protocol !== ICMPV6 || type < 130 || type > 137 || type === 133 || type === 134)
    return writeTags(at + 8, packet, tag);
  scratch.set(packet.to.bytes, at + 8);
  return writeTags(at + 24, packet, tag);
}

/** INIT, or DATA where there are flags (RFC 9260). */
function writeSctp(at: number, packet: Packet, tag: number): number {
  writePorts(at, packet);
  scratch.fill(0, at + 4, at + 32);
  scratch[at + 12] = 1;
  scratch.writeUInt32BE(1, at + 16);
  scratch.writeUInt32BE(0x10000, at + 20);
  scratch.writeUInt32BE(0x10001, at + 24);
  scratch.writeUInt32BE(1, at + 28);
  const end = writeTags(at + 32, packet, tag);
  scratch.writeUInt16BE(end - at - 12, at + 14);
  scratch.writeUInt32LE(crc32c(at, end), at + 8);
  return end;
}

function pseudo(from: Place, to: Place, protocol: number, length: number): number {
  return sumOf(from.bytes) + sumOf(to.bytes) + protocol + length;
}

function sumOf(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i]! << 8) | bytes[i + 1]!;
  return sum;
}

/** RFC 1071. */
function checksum(from: number, to: number, start: number): number {
  let sum = start;
  for (let at = from; at < to - 1; at += 2) sum += (scratch[at]! << 8) | scratch[at + 1]!;
  if ((to - from) % 2 === 1) sum += scratch[to - 1]! << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

const CRC32C = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  return crc;
});

function crc32c(from: number, to: number): number {
  let crc = ~0;
  for (let at = from; at < to; at++) crc = (crc >>> 8) ^ CRC32C[(crc ^ scratch[at]!) & 255]!;
  return ~crc >>> 0;
}
