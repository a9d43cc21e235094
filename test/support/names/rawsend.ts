/** A UDP packet from port 53 in anybody's name, as a pod with CAP_NET_RAW sends it to its node: also one to its own address. */

import { execFileSync } from 'node:child_process';
import koffi from 'koffi';
import { inNamespace } from '../../../src/lab/netns.ts';
import { type Address, addressBytes } from '../../../src/model/address.ts';

const libc = koffi.load(null);
const socket = libc.func('int socket(int domain, int type, int protocol)');
const sendto = libc.func(
  'int sendto(int fd, const void *bytes, size_t length, int flags, const void *to, uint32_t size)',
);
const close = libc.func('int close(int fd)');

const AF_PACKET = 17;
const SOCK_RAW = 3;
const ETH_P_IP = 0x0800;

export interface Way {
  /** Of the network namespace that it is sent from. */
  readonly namespace: string;
  readonly gatewayMac: string;
}

export function rawSend(
  { namespace, gatewayMac }: Way,
  from: Address,
  to: Address,
  port: number,
  payload: Uint8Array,
): void {
  const { link, frame } = inNamespace(namespace, () => wayOut(gatewayMac));
  const udp = Buffer.concat([header16(53, port, 8 + payload.length, 0), payload]);
  const ip = Buffer.alloc(20);
  ip.set([0x45, 0], 0);
  ip.writeUInt16BE(20 + udp.length, 2);
  ip.set([64, 17], 8);
  ip.set(addressBytes(from), 12);
  ip.set(addressBytes(to), 16);
  ip.writeUInt16BE(checksum(ip), 10);
  const bytes = Buffer.concat([frame, ip, udp]);
  const target = Buffer.alloc(20);
  target.writeUInt16LE(AF_PACKET, 0);
  target.writeUInt16BE(ETH_P_IP, 2);
  target.writeInt32LE(link, 4);
  const fd = inNamespace(namespace, () => socket(AF_PACKET, SOCK_RAW, 0x0008));
  try {
    if (sendto(fd, bytes, bytes.length, 0, target, target.length) < 0) throw new Error('sendto failed');
  } finally {
    close(fd);
  }
}

/** The pod's interface, and an Ethernet header to its gateway. */
function wayOut(gatewayMac: string) {
  const run = (...args: string[]) => execFileSync('ip', args, { encoding: 'utf8' });
  const [, device] = /dev (\S+)/.exec(run('-4', 'route', 'show', 'default'))!;
  const text = run('link', 'show', 'dev', device!);
  const [, own] = /link\/ether (\S+)/.exec(text)!;
  const bytes = (mac: string) => Buffer.from(mac.replaceAll(':', ''), 'hex');
  const frame = Buffer.concat([bytes(gatewayMac), bytes(own!), Buffer.from([0x08, 0x00])]);
  return { link: Number(/^(\d+):/.exec(text)![1]), frame };
}

function header16(...words: number[]): Buffer {
  return Buffer.from(words.flatMap(word => [word >> 8, word & 255]));
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
