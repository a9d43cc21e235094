/** Packets as the kernel hands them over: UDP, TCP in all segmentations and orders, and malformed ones. */
import packet, { type Answer, type Packet } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/support/seed.ts';
import { type Address, addressBytes, familyOf } from '../model/address.ts';
import { AnswerReader } from './answerreader.ts';
import { Leases } from './leases.ts';
import { readPacket } from './packet.ts';

const POD = '10.1.0.1' as Address;
const DNS = '10.96.0.10' as Address;
const NAMES = { name: 'names-A', patterns: ['*.example.org'], command: 4 };

function opened(addresses = [POD]) {
  const leases = new Leases();
  leases.configure({ pods: [{ key: 'shop/web', addresses, sets: ['names-A'] }], sets: [NAMES] }, 0);
  const listener = new AnswerReader(leases);
  const hear = (bytes: Uint8Array) => {
    const packet = listener.read(bytes);
    return packet === undefined ? [] : listener.learn(packet, 0).changes;
  };
  return { leases, listener, hear };
}

function message(name: string, address: string): Buffer {
  const answers = [{ type: 'A', name, ttl: 60, data: address }] as Answer[];
  return packet.encode({ type: 'response', questions: [{ type: 'A', name }], answers } as Packet);
}

function ip(from: Address, to: Address, protocol: number, body: Uint8Array): Uint8Array {
  const v4 = familyOf(from) === 'ip';
  const header = Buffer.alloc(v4 ? 20 : 40);
  header[0] = v4 ? 0x45 : 0x60;
  header.writeUInt16BE(body.length + (v4 ? 20 : 0), v4 ? 2 : 4);
  header[v4 ? 9 : 6] = protocol;
  header.set(addressBytes(from), v4 ? 12 : 8);
  header.set(addressBytes(to), v4 ? 16 : 24);
  return Buffer.concat([header, body]);
}

function udp(payload: Uint8Array, from = DNS, to = POD): Uint8Array {
  const header = Buffer.alloc(8);
  header.writeUInt16BE(53, 0);
  header.writeUInt16BE(4444, 2);
  header.writeUInt16BE(8 + payload.length, 4);
  return ip(from, to, 17, Buffer.concat([header, payload]));
}

function tcp(sequence: number, payload: Uint8Array, flags = 0x10, port = 4444): Uint8Array {
  const header = Buffer.alloc(20);
  header.writeUInt16BE(53, 0);
  header.writeUInt16BE(port, 2);
  header.writeUInt32BE(sequence >>> 0, 4);
  header[12] = 0x50;
  header[13] = flags;
  return ip(DNS, POD, 6, Buffer.concat([header, payload]));
}

const framed = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);

describe('AnswerListener', () => {
  it('learns from UDP, in both families', () => {
    const { listener, hear } = opened([POD, 'fd00::1' as Address]);
    const bytes = message('www.example.org', '192.0.2.1');
    const learn = [{ kind: 'learn', set: 'names-A', pod: POD, peer: '192.0.2.1' }];
    expect(hear(udp(bytes))).toEqual(learn);
    expect(hear(udp(bytes, 'fd00::53' as Address, 'fd00::1' as Address))).toEqual(learn);
    expect(listener.counts).toEqual({ seen: 2, learnt: 2, passed: 0, unread: 0 });
  });

  it('learns nothing from fragments, other protocols, and names that no rule has', () => {
    const { listener, hear } = opened();
    const fragment = udp(message('www.example.org', '192.0.2.1'));
    fragment[6] = 0x20;
    const other = udp(message('www.example.com', '192.0.2.1'));
    const sctp = ip(DNS, POD, 132, Buffer.alloc(40));
    for (const bytes of [fragment, other, sctp, new Uint8Array(0)]) expect(hear(bytes)).toEqual([]);
    expect(listener.counts).toEqual({ seen: 4, learnt: 0, passed: 1, unread: 3 });
  });

  it('learns from TCP whatever the pieces and their order, each with the segment that completes the message', () => {
    const first = framed(message('a.example.org', '192.0.2.1'));
    const second = framed(message('b.example.org', '192.0.2.2'));
    const bytes = Buffer.concat([first, second]);
    const cuts = fc
      .array(fc.nat(bytes.length), { maxLength: 6 })
      .map(all => [0, ...all, bytes.length].sort((a, b) => a - b));
    const start = fc.constantFrom(1, 0xffffffff, 0xfffffff0, 0x7fffffff);
    fc.assert(
      fc.property(cuts, start, fc.infiniteStream(fc.nat()), (at, sequence, random) => {
        const { hear } = opened();
        hear(tcp(sequence, Buffer.alloc(0), 0x12));
        const pieces = at.slice(1).map((end, i) => ({ from: at[i]!, end, order: random.next().value }));
        const sent = [...pieces].sort((a, b) => a.order - b.order);
        const repeated = sent.flatMap(piece => (piece.order % 3 === 0 ? [piece, piece] : [piece]));
        let covered = new Set<number>();
        const whole = (length: number) => [...Array(length).keys()].every(i => covered.has(i));
        for (const { from, end } of repeated) {
          const before = [whole(first.length), whole(bytes.length)];
          for (let i = from; i < end; i++) covered = covered.add(i);
          const learnt = hear(tcp(sequence + 1 + from, bytes.subarray(from, end))).map(({ peer }) => peer);
          const now = [whole(first.length), whole(bytes.length)];
          const expected = [
            ...(now[0] && !before[0] ? ['192.0.2.1'] : []),
            ...(now[1] && !before[1] ? ['192.0.2.2'] : []),
          ];
          expect(learnt).toEqual(expected);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  it('passes over a connection whose beginning it did not see, and one that keeps too much', () => {
    const { hear } = opened();
    const bytes = framed(message('a.example.org', '192.0.2.1'));
    expect(hear(tcp(2, bytes))).toEqual([]);
    hear(tcp(1, Buffer.alloc(0), 0x12));
    for (let i = 0; i < 60; i++) hear(tcp(2 + 1_000 + i * 1_500, Buffer.alloc(1_400, i)));
    expect(hear(tcp(2, bytes))).toEqual([]);
  });

  it('keeps the connection of a pod whatever another opens', () => {
    const { hear } = opened();
    const other = (port: number) => {
      const bytes = tcp(1, Buffer.alloc(0), 0x12, port);
      bytes.set(addressBytes('10.1.0.9' as Address), 16);
      return bytes;
    };
    hear(tcp(1, Buffer.alloc(0), 0x12));
    for (let port = 1; port < 5_000; port++) hear(other(port));
    expect(hear(tcp(2, framed(message('a.example.org', '192.0.2.1'))))).toHaveLength(1);
  });

  it('tells an address once, however many aliases lead to it, and a hundred of each name', () => {
    const { leases, hear } = opened();
    const alias = (i: number) => `n${i}.example.org`;
    const answers = [
      ...Array.from({ length: 16 }, (_, i) => ({
        type: 'CNAME',
        name: alias(i),
        ttl: 60,
        data: alias(i + 1),
      })),
      ...Array.from({ length: 400 }, (_, i) => ({
        type: 'A',
        name: alias(16),
        ttl: 60,
        data: `192.0.${2 + (i >> 8)}.${i & 255}`,
      })),
    ] as Answer[];
    const bytes = packet.encode({
      type: 'response',
      questions: [{ type: 'A', name: alias(0) }],
      answers,
    } as Packet);
    const peers = hear(udp(bytes)).map(({ peer }) => peer);
    expect(new Set(peers).size).toBe(peers.length);
    expect(peers.length).toBeGreaterThanOrEqual(100);
    expect(leases.size).toBe(17 * peers.length);
    expect(leases.size).toBeLessThanOrEqual(2_048);
  });

  it('never throws, whatever the bytes', () => {
    const { hear } = opened();
    const valid = fc.constantFrom(
      udp(message('a.example.org', '192.0.2.1')),
      tcp(1, framed(message('a.example.org', '192.0.2.1'))),
    );
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 });
    fc.assert(
      fc.property(valid, changes, fc.nat(), (bytes, edits, cut) => {
        const copy = Uint8Array.from(bytes);
        for (const [at, byte] of edits) copy[at % copy.length] = byte;
        hear(copy.subarray(0, cut % (copy.length + 1)));
      }),
      { numRuns: runs(3_000) },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => void readPacket(bytes)),
      { numRuns: runs(2_000) },
    );
  });
});
