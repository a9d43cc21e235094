/** ICMP and ICMPv6: an echo request that the kernel of the destination answers (RFC 792, RFC 4443). */
import type { Family } from '../../../src/model/address.ts';
import { ICMP_OF, PROTOCOL_NUMBER } from '../../../src/model/ipprotocol.ts';
import { internetChecksum } from './checksum.ts';
import type { Dialogue } from './raw.ts';

const REQUEST = { ip: 8, ip6: 128 } as const;
export const ECHO_REPLY = { ip: 0, ip6: 129 } as const;

export function echoDialogue(family: Family): Dialogue {
  return {
    protocol: PROTOCOL_NUMBER[ICMP_OF[family]],
    question: ({ id }) => echoRequest(family, id),
    read: payload =>
      payload[0] === ECHO_REPLY[family] && payload.length >= LENGTH
        ? { kind: 'answer', id: payload.readUInt32BE(8) }
        : undefined,
  };
}

// Type, code, checksum, identifier, sequence number; then the attempt's id.
const LENGTH = 12;

export function echoRequest(family: Family, id: number): Uint8Array {
  const message = Buffer.alloc(LENGTH);
  message[0] = REQUEST[family];
  message.writeUInt16BE(id & 0xffff, 4); // conntrack distinguishes echo requests by their identifier.
  message.writeUInt32BE(id, 8);
  if (family === 'ip') message.writeUInt16BE(internetChecksum(message), 2); // for ICMPv6 the kernel computes it
  return message;
}
