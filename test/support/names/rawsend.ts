/**
 * Sends a UDP packet from port 53 with a forged source address, as a pod with CAP_NET_RAW can send it to its node: also
 * to its own address.
 */

import { execFileSync } from 'node:child_process';
import koffi from 'koffi';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { internetChecksum } from '../../../bench/lab/probe/checksum.ts';
import { type Address, addressBytes, familyOf } from '../../../src/model/address.ts';

const libc = koffi.load(null);
const socket = libc.func('int socket(int domain, int type, int protocol)');
const sendto = libc.func(
  'int sendto(int fd, const void *bytes, size_t length, int flags, const void *to, uint32_t size)',
);
const close = libc.func('int close(int fd)');

const AF_PACKET = 17;
const SOCK_RAW = 3;
const UDP = 17;

export interface Way {
  /** The path of the network namespace from which it is sent. */
  readonly namespace: string;
  readonly gatewayMac: string;
}

export function rawSend(
  way: Way,
  from: Address,
  to: Address,
  port: number,
  payload: Uint8Array,
  sourcePort = 53,
): void {
  sendPacket(way, udpPacket(from, to, port, payload, sourcePort));
}

/** A UDP packet of either family. */
export function udpPacket(
  from: Address,
  to: Address,
  port: number,
  payload: Uint8Array,
  sourcePort = 53,
): Buffer {
  const udp = Buffer.concat([header16(sourcePort, port, 8 + payload.length, 0), payload]);
  const isV4 = familyOf(from) === 'ip';
  const addresses = Buffer.concat([addressBytes(from), addressBytes(to)]);
  const pseudo = Buffer.concat([addresses, header16(0, udp.length, 0, UDP)]);
  udp.writeUInt16BE(internetChecksum(Buffer.concat([pseudo, udp])) || 0xffff, 6);
  const ip = Buffer.alloc(isV4 ? 12 : 8);
  if (!isV4) ip.set([0x60, 0, 0, 0, udp.length >> 8, udp.length & 255, UDP, 64]);
  else ip.set([0x45, 0, (20 + udp.length) >> 8, (20 + udp.length) & 255, 0, 0, 0, 0, 64, UDP]);
  const header = Buffer.concat([ip, addresses]);
  if (isV4) header.writeUInt16BE(internetChecksum(header), 10);
  return Buffer.concat([header, udp]);
}

/** Sends a packet that is given from its IP header on. */
export function sendPacket({ namespace, gatewayMac }: Way, packet: Uint8Array): void {
  const { link, frame } = inNamespace(namespace, () => wayOut(gatewayMac, packet[0]! >> 4 === 4));
  const bytes = Buffer.concat([frame, packet]);
  const target = Buffer.alloc(20);
  target.writeUInt16LE(AF_PACKET, 0);
  target.writeUInt16BE(frame.readUInt16BE(12), 2);
  target.writeInt32LE(link, 4);
  const fd = inNamespace(namespace, () => socket(AF_PACKET, SOCK_RAW, 0x0008));
  try {
    if (sendto(fd, bytes, bytes.length, 0, target, target.length) < 0) throw new Error('sendto failed');
  } finally {
    close(fd);
  }
}

/** The pod's interface, and an Ethernet header to its gateway. */
function wayOut(gatewayMac: string, isV4: boolean) {
  const run = (...args: string[]) => execFileSync('ip', args, { encoding: 'utf8' });
  const [, device] = /dev (\S+)/.exec(run('-4', 'route', 'show', 'default'))!;
  const text = run('link', 'show', 'dev', device!);
  const [, own] = /link\/ether (\S+)/.exec(text)!;
  const bytes = (mac: string) => Buffer.from(mac.replaceAll(':', ''), 'hex');
  const frame = Buffer.concat([
    bytes(gatewayMac),
    bytes(own!),
    Buffer.from(isV4 ? [0x08, 0x00] : [0x86, 0xdd]),
  ]);
  return { link: Number(/^(\d+):/.exec(text)![1]), frame };
}

function header16(...words: number[]): Buffer {
  return Buffer.from(words.flatMap(word => [word >> 8, word & 255]));
}
