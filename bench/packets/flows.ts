/** Flows as bench/inject.c reads them. */
import { type Address, addressBytes } from '../../src/model/address.ts';
import { clientAddresses, localAddresses } from './cluster.ts';

/** One UDP packet's addresses and ports. */
export interface UdpFlow {
  readonly from: Address;
  readonly to: Address;
  readonly sourcePort: number;
  readonly port: number;
}

/** From the clients to the local pods, every pair in turn, each flow from a source port of its own. */
export function flowsTo(port: number, count: number): UdpFlow[] {
  return Array.from({ length: count }, (_, i) => ({
    from: clientAddresses[Math.floor(i / localAddresses.length) % clientAddresses.length]!,
    to: localAddresses[i % localAddresses.length]!,
    sourcePort: 20_000 + i,
    port,
  }));
}

const FLOW_SIZE = 16;

/** An array of inject.c's struct flow. */
export function flowBytes(flows: readonly UdpFlow[]): Buffer {
  const bytes = Buffer.alloc(flows.length * FLOW_SIZE);
  flows.forEach(({ from, to, sourcePort, port }, i) => {
    const flow = bytes.subarray(i * FLOW_SIZE);
    flow.set(addressBytes(from), 0);
    flow.set(addressBytes(to), 4);
    flow.writeUInt16BE(sourcePort, 8);
    flow.writeUInt16BE(port, 10);
    flow.writeUInt16BE(headerChecksum(flow.subarray(0, 8)), 12);
  });
  return bytes;
}

export function replyTo({ from, to, sourcePort, port }: UdpFlow): UdpFlow {
  return { from: to, to: from, sourcePort: port, port: sourcePort };
}

// The words of inject.c's IPv4 header but for its addresses: version and length, total length, DF, TTL and UDP.
const CONSTANT_WORDS = 0x4500 + 46 + 0x4000 + 0x4011;

function headerChecksum(addresses: Buffer): number {
  let sum = CONSTANT_WORDS;
  for (let at = 0; at < addresses.length; at += 2) sum += addresses.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
