import { describe, expect, it } from 'vitest';
import { type Address, parseAddress } from '../../model/address.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import { packet } from './packet.ts';

const [A, B, A6, B6] = ['10.0.0.1', '10.0.0.2', 'fd00::1', 'fd00::2'].map(text => parseAddress(text)!) as [
  Address,
  Address,
  Address,
  Address,
];

// RFC 9293.
const [SYN, RST, ACK] = [2, 4, 16];

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('packet()', () => {
  it('writes a SYN with the checksums of RFC 791 and RFC 9293', () => {
    const bytes = packet({ from: A, to: B, protocol: 'TCP', port: 80, sourcePort: 1234 });
    expect(hex(bytes.subarray(0, 20))).toBe(
      '450000280000400040 06 26ce 0a000001 0a000002'.replaceAll(' ', ''),
    );
    expect(hex(bytes.subarray(20))).toBe(
      '04d2 0050 00000001 00000000 5002 ffff 96bd 0000'.replaceAll(' ', ''),
    );
  });

  it('writes other flags, with an acknowledgement where there is one to give', () => {
    const rst = packet({ from: A, to: B, protocol: 'TCP', port: 80, tcpFlags: RST });
    const ack = packet({
      from: A,
      to: B,
      protocol: 'TCP',
      port: 80,
      tcpFlags: SYN | ACK,
    });
    expect([rst[33], rst[31]]).toEqual([4, 0]);
    expect([ack[33], ack[31]]).toEqual([18, 1]);
  });

  it('writes IPv6 with the length of what follows', () => {
    const bytes = packet({ from: A6, to: B6, protocol: 'UDP', port: 53 });
    expect(hex(bytes.subarray(0, 8))).toBe('6000000000081140');
    expect(hex(bytes.subarray(40, 46))).toBe('c00000350008');
  });

  it('writes an SCTP INIT behind the ports and a verification tag of zero', () => {
    const bytes = packet({ from: A, to: B, protocol: 'SCTP', port: 5000 });
    expect(hex(bytes.subarray(20, 28))).toBe('c000138800000000');
    expect(hex(bytes.subarray(32))).toBe('01000014000000010001000000010001' + '00000001');
  });

  it('writes an echo request of the family, or the given type', () => {
    expect(packet({ from: A, to: B, protocol: 'ICMP' }).subarray(9, 10)).toEqual(Uint8Array.of(1));
    expect(packet({ from: A, to: B, protocol: 'ICMP' })[20]).toBe(8);
    expect(packet({ from: A6, to: B6, protocol: 'ICMP' })[40]).toBe(128);
    expect(packet({ from: A6, to: B6, protocol: 'ICMP', icmpType: 135 })[40]).toBe(135);
  });

  it('writes eight zero bytes of any other protocol', () => {
    const bytes = packet({ from: A, to: B, protocol: 47 });
    expect(bytes[9]).toBe(47);
    expect(hex(bytes.subarray(20))).toBe('0000000000000000');
  });

  const protocols: FlowProtocol[] = ['TCP', 'UDP', 'ICMP', 6, 17];
  it.each(protocols)('sums %s up to all ones, with its pseudo header', protocol => {
    for (const [from, to] of [
      [A, B],
      [A6, B6],
    ] as const) {
      const bytes = packet({ from, to, protocol, port: 4711 });
      expect(transportSum(bytes)).toBe(0xffff);
    }
  });

  it('refuses two addresses of different families', () => {
    expect(() => packet({ from: A, to: B6, protocol: 'TCP', port: 80 })).toThrow('not of one family');
  });
});

/**
 * Computes the checksum as a receiver does: over the segment and the pseudo-header. ICMP has no pseudo-header in IPv4.
 */
function transportSum(bytes: Uint8Array): number {
  const v4 = bytes[0]! >> 4 === 4;
  const [protocol, start] = v4 ? [bytes[9]!, 20] : [bytes[6]!, 40];
  const addresses = protocol === 1 ? [] : [...bytes.subarray(v4 ? 12 : 8, start)];
  const pseudo = protocol === 1 ? [] : [0, protocol, 0, bytes.length - start];
  const all = Buffer.from([...addresses, ...pseudo, ...bytes.subarray(start)]);
  let sum = 0;
  for (let at = 0; at < all.length; at += 2) sum += all.readUInt16BE(at);
  return (sum & 0xffff) + (sum >> 16);
}
