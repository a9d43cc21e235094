import { expect, test } from 'vitest';
import { addressBytes, parseAddress } from '../../../model/address.ts';
import { NFPROTO } from '../nftables/constants.ts';
import { AttributeWriter } from '../wire/attributes.ts';
import { NLM_F } from '../wire/constants.ts';
import { beginMessage, endMessage, type Message, readMessages } from '../wire/messages.ts';
import {
  CT_MSG,
  CTA,
  CTA_IP,
  CTA_PROTO,
  CTA_TUPLE,
  IPS,
  readConnection,
  writeDump,
  writeHandleMessage,
} from './ctnetlink.ts';

interface Tuple {
  readonly source: string;
  readonly destination: string;
  readonly protocol?: number;
  readonly ports?: readonly [number, number];
}

const hex = (bytes: Iterable<number>) => Buffer.from([...bytes]).toString('hex');
const port = (value: number) => value.toString(16).padStart(4, '0');

/** A message as the kernel writes it: both tuples, a status, and an id. */
function messageOf(original: Tuple, reply: Tuple, status: number = REPLIED): Message {
  const to = new AttributeWriter();
  const family = original.source.includes(':') ? 'ip6' : 'ip';
  const start = beginMessage(to, CT_MSG.NEW, 0, 7, NFPROTO[family]);
  writeTuple(to, CTA.TUPLE_ORIG, original);
  writeTuple(to, CTA.TUPLE_REPLY, reply);
  to.u32(CTA.STATUS, status);
  to.u32(CTA.ID, 0xcafe);
  endMessage(to, start);
  return [...readMessages(Buffer.copyBytesFrom(to.buffer, 0, to.length), to.length)][0]!;
}

function writeTuple(
  to: AttributeWriter,
  type: number,
  { source, destination, protocol = 6, ports }: Tuple,
): void {
  const v6 = source.includes(':');
  to.nest(type, () => {
    to.nest(CTA_TUPLE.IP, () => {
      to.hex(v6 ? CTA_IP.V6_SRC : CTA_IP.V4_SRC, hex(addressBytes(parseAddress(source)!)));
      to.hex(v6 ? CTA_IP.V6_DST : CTA_IP.V4_DST, hex(addressBytes(parseAddress(destination)!)));
    });
    to.nest(CTA_TUPLE.PROTO, () => {
      to.hex(CTA_PROTO.NUM, hex([protocol]));
      if (ports) to.hex(CTA_PROTO.SRC_PORT, port(ports[0]));
      if (ports) to.hex(CTA_PROTO.DST_PORT, port(ports[1]));
    });
  });
}

const all = () => true;
const REPLIED = 0x18e;

test('readConnection() reads who opened it and to which port', () => {
  const message = messageOf(
    { source: '10.0.0.1', destination: '10.0.0.2', ports: [40000, 80] },
    { source: '10.0.0.2', destination: '10.0.0.1', ports: [80, 40000] },
  );
  const { handle, ...rest } = readConnection(message, all)!;
  expect(rest).toEqual({
    flow: { from: '10.0.0.1', to: '10.0.0.2', protocol: 'TCP', port: 80 },
    sourcePort: 40000,
  });
  expect(handle[0]).toBe(NFPROTO.ip);
});

test('readConnection() sees past DNAT and SNAT: the pod that answers, the client that asked', () => {
  const message = messageOf(
    { source: 'fd00::1', destination: 'fd99::1', protocol: 17, ports: [40000, 53] },
    { source: 'fd00::2', destination: 'fd18::1', protocol: 17, ports: [5353, 61000] },
  );
  expect(readConnection(message, all)).toMatchObject({
    flow: { from: 'fd00::1', to: 'fd00::2', protocol: 'UDP', port: 5353, viaService: true },
    sourcePort: 40000,
    dialled: 'fd99::1',
  });
});

test.each([
  [1, '10.0.0.1', '10.0.0.2', 'ICMP'],
  [58, 'fd00::1', 'fd00::2', 'ICMP'],
  [132, '10.0.0.1', '10.0.0.2', 'SCTP'],
  [47, '10.0.0.1', '10.0.0.2', 47],
])('readConnection() reads protocol %i, with no port where there is none', (protocol, a, b, expected) => {
  const message = messageOf({ source: a, destination: b, protocol }, { source: b, destination: a, protocol });
  expect(readConnection(message, all)!.flow).toEqual({ from: a, to: b, protocol: expected });
});

test.each([
  ['SYN_SENT, UNREPLIED', 0x188, true],
  ['replied to', 0x188 | IPS.SEEN_REPLY, undefined],
  ['expected, and so related', 0x188 | IPS.EXPECTED, undefined],
])('readConnection() knows what is unreplied: %s', (_, status, expected) => {
  const message = messageOf(
    { source: '10.0.0.1', destination: '10.0.0.2', ports: [40000, 80] },
    { source: '10.0.0.2', destination: '10.0.0.1', ports: [80, 40000] },
    status,
  );
  expect(readConnection(message, all)!.unreplied).toBe(expected);
});

test('readConnection() tells addresses apart, however many there were before', () => {
  const first = (i: number) => `${i & 255}.${(i * 7) & 255}.${i >> 8}.${(i * 13) & 255}`;
  const second = (i: number) => `${i >> 8}.0.${i & 255}.255`;
  for (let i = 0; i < 30_000; i += 1 + (i % 5)) {
    const [from, to] = [first(i), second(i)];
    const message = messageOf(
      { source: from, destination: to, ports: [1, 2] },
      { source: to, destination: from, ports: [2, 1] },
    );
    expect(readConnection(message, () => true)!.flow).toMatchObject({ from, to });
  }
});

test('readConnection() makes nothing of what is not wanted', () => {
  const tuple = { source: '10.0.0.1', destination: '10.0.0.2', ports: [1, 2] } as const;
  const message = messageOf(tuple, { source: '10.0.0.2', destination: '10.0.0.1', ports: [2, 1] });
  expect(readConnection(message, () => false)).toBeUndefined();
});

test('writeHandleMessage() gives the kernel its original tuple and id back, byte for byte', () => {
  const message = messageOf(
    { source: '10.0.0.1', destination: '10.9.9.9', ports: [40000, 80] },
    { source: '10.0.0.2', destination: '10.0.0.1', ports: [8080, 40000] },
  );
  const to = new AttributeWriter();
  writeHandleMessage(to, CT_MSG.DELETE, NLM_F.ACK, 9, readConnection(message, all)!.handle);
  const [written] = [...readMessages(to.buffer, to.length)];
  expect(written).toMatchObject({ type: CT_MSG.DELETE, sequence: 9, nfproto: NFPROTO.ip });
  const bytes = (of: Message) => of.attributes.bytes.subarray(of.attributes.start, of.attributes.end);
  const [sent, received] = [bytes(written!).toString('hex'), bytes(message).toString('hex')];
  expect(received.startsWith(sent.slice(0, -16))).toBe(true); // CTA_TUPLE_ORIG
  expect(sent.slice(-16)).toBe(received.slice(-16)); // CTA_ID
  expect(sent.length).toBeLessThan(received.length);
});

test('writeDump() asks for all, for those of a family, or for those with one end', () => {
  const to = new AttributeWriter();
  writeDump(to, 1, 'all');
  writeDump(to, 2, 'ip6');
  writeDump(to, 3, { address: parseAddress('10.0.0.1')!, role: 'answers' });
  const [every, family, one] = [...readMessages(to.buffer, to.length)];
  expect(every).toMatchObject({ type: CT_MSG.GET, nfproto: 0, flags: NLM_F.REQUEST | NLM_F.DUMP });
  for (const plain of [every!, family!]) expect(plain.attributes.end).toBe(plain.attributes.start);
  expect(family).toMatchObject({ nfproto: NFPROTO.ip6 });
  expect(one).toMatchObject({ nfproto: NFPROTO.ip });
  const { bytes, start, end } = one!.attributes;
  // CTA_TUPLE_REPLY > CTA_TUPLE_IP > CTA_IP_V4_SRC, then CTA_FILTER > CTA_FILTER_REPLY_FLAGS = 1
  expect(bytes.subarray(start, end).toString('hex')).toBe(
    `10000280${'0c000180'}${'08000100'}0a000001${'0c001980'}${'08000200'}01000000`,
  );
});

test('writeDump() never asks by an IPv6 address: kernels answer what does not have it', () => {
  const end = { address: parseAddress('fd00::1')!, role: 'opens' } as const;
  expect(() => writeDump(new AttributeWriter(), 1, end)).toThrow(TypeError);
});
