/**
 * Packets as a hostile resolver, or an attacker on the path, may send them: answers of DNS by UDP and TCP, with bytes
 * changed.
 */
import packet, { type Answer, type Packet } from 'dns-packet';
import fc from 'fast-check';
import { type Address, addressBytes } from '../../../src/model/address.ts';

export const RESOLVING_POD = '10.1.0.1' as Address;
const RESOLVER = '10.96.0.10' as Address;

const name = fc.constantFrom('a.example.org', 'b.example.org', 'A.Example.ORG', 'x.cdn.example', 'other.net');
const record = fc.oneof(
  fc.record({
    type: fc.constant('A'),
    name,
    ttl: fc.nat(4_000),
    data: fc.nat(255).map(i => `192.0.2.${i}`),
  }),
  fc.record({ type: fc.constant('CNAME'), name, ttl: fc.nat(4_000), data: name }),
);
const message = fc
  .record({
    question: name,
    answers: fc.array(record, { maxLength: 12 }),
    flags: fc.constantFrom(0x180, 0x380, 0x183),
  })
  .map(({ question, answers, flags }) =>
    packet.encode({
      type: 'response',
      flags,
      questions: [{ type: 'A', name: question }],
      answers: answers as Answer[],
    } as Packet),
  );

const byUdp = message.map(payload => {
  const header = Buffer.alloc(8);
  header.writeUInt16BE(53, 0);
  header.writeUInt16BE(4444, 2);
  header.writeUInt16BE(8 + payload.length, 4);
  return ip(17, Buffer.concat([header, payload]));
});

const byTcp = fc
  .record({ payload: message, sequence: fc.nat(3_000), flags: fc.constantFrom(0x10, 0x12, 0x11) })
  .map(({ payload, sequence, flags }) => {
    const header = Buffer.alloc(20);
    header.writeUInt16BE(53, 0);
    header.writeUInt16BE(4444, 2);
    header.writeUInt32BE(sequence, 4);
    header.set([0x50, flags], 12);
    const length = Buffer.from([payload.length >> 8, payload.length & 255]);
    return ip(6, Buffer.concat([header, length, payload]));
  });

function ip(protocol: number, body: Uint8Array): Buffer {
  const header = Buffer.alloc(20);
  header[0] = 0x45;
  header.writeUInt16BE(20 + body.length, 2);
  header[9] = protocol;
  header.set(addressBytes(RESOLVER), 12);
  header.set(addressBytes(RESOLVING_POD), 16);
  return Buffer.concat([header, body]);
}

const changed = fc
  .record({
    bytes: fc.oneof(byUdp, byTcp),
    edits: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
    cut: fc.nat(60),
  })
  .map(({ bytes, edits, cut }) => {
    for (const [at, byte] of edits) bytes[at % bytes.length] = byte;
    return bytes.subarray(0, bytes.length - Math.max(0, cut - 40));
  });

export const answerPackets = () => fc.array(changed, { minLength: 1, maxLength: 40 });
