/**
 * A pod that may write every byte answers its own question in the resolver's name, in every shape that an answer can
 * have: nothing is learnt. The same bytes from where the resolver is are, so that each shape is one that could be.
 */
import { expect, test } from 'vitest';
import type { Address } from '../../../src/model/address.ts';
import { ASKED_NAME, forgedAnswer } from '../../support/names/forgedanswer.ts';
import { HOSTS, NODE_ADDRESS, RESOLVER, SLOW } from '../../support/names/ground.ts';
import { sendPacket, udpPacket } from '../../support/names/rawsend.ts';
import {
  EXTENSION,
  encapsulated,
  fragmentsOf,
  withExtensions,
  withIcmp,
  withOptions,
} from '../hostile/craft.ts';
import { hearingGround } from './hearingground.ts';

const ground = hearingGround();

type Shape = (packet: Buffer) => readonly Uint8Array[];

const NOP = 1;
const [IPIP, V6_IN_V4] = [4, 41];

/** An ICMP error that quotes an answer, as if the pod had sent it. */
function quoting(packet: Uint8Array): Uint8Array {
  const isV4 = packet[0]! >> 4 === 4;
  return withIcmp(packet, [...(isV4 ? [3, 3] : [1, 4]), 0, 0, 0, 0, 0, 0, ...packet]);
}

function withWrongChecksum(packet: Buffer): Buffer {
  const bytes = Buffer.from(packet);
  const at = packet[0]! >> 4 === 4 ? 26 : 46;
  bytes.writeUInt16BE(bytes.readUInt16BE(at) ^ 0x1234, at);
  return bytes;
}

const whole: Shape = packet => [packet];
const inFragments: Shape = packet => fragmentsOf(packet, 24);
const quoted: Shape = packet => [quoting(packet)];
const broken: Shape = packet => [withWrongChecksum(packet)];

/** `counts`: from where the resolver is, it is an answer. */
const SHAPES: readonly [family: 'ip' | 'ip6', what: string, shape: Shape, counts: boolean][] = [
  ['ip', 'whole', whole, true],
  ['ip', 'in fragments', inFragments, true],
  ['ip', 'in fragments, the last first', packet => [...inFragments(packet)].reverse(), true],
  ['ip', 'with options', packet => [withOptions(packet, [NOP, NOP, NOP, NOP])], true],
  ['ip', 'quoted by an ICMP error', quoted, false],
  ['ip', 'with a wrong checksum', broken, false],
  ['ip', 'in a packet in a packet', packet => [encapsulated(packet, IPIP, Buffer.alloc(0), packet)], false],
  ['ip6', 'whole', whole, true],
  ['ip6', 'in fragments', inFragments, true],
  ['ip6', 'behind options for each hop', p => [withExtensions(p, [EXTENSION.hopByHop])], true],
  ['ip6', 'behind options for its destination', p => [withExtensions(p, [EXTENSION.destination])], true],
  ['ip6', 'behind a routing header', p => [withExtensions(p, [EXTENSION.routing])], true],
  ['ip6', 'quoted by an ICMP error', quoted, false],
  ['ip6', 'with a wrong checksum', broken, false],
  ['ip6', 'in a packet in a packet', p => [encapsulated(p, V6_IN_V4, Buffer.alloc(0), p)], false],
];

const at = { ip: 0, ip6: 1 } as const;

async function openQuestion(resolver: Address, port: number): Promise<void> {
  const { unanswered } = await ground.visit({ names: [ASKED_NAME], resolver, port });
  expect(unanswered).toBe(0);
}

/** Until what came before has been read: an honest answer that came after it is learnt. */
async function settled(number: number): Promise<void> {
  const name = `n${20_000 + number}.t.example`;
  expect((await ground.visit({ names: [name] })).connected).toEqual([name]);
}

test.each(SHAPES.map(([family, what, shape, counts], i) => [family, what, counts, shape, i] as const))(
  'C54: an answer of %s, %s: from where the resolver is it counts: %s; from the pod itself never',
  async (family, _, counts, shape, i) => {
    const [dns, web] = [HOSTS.dns[at[family]], HOSTS.web[at[family]]];
    const port = 4_300 + i;
    const answer = (address: string) => shape(udpPacket(dns, web, port, forgedAnswer(address)));
    await openQuestion(RESOLVER[family], port);
    for (const packet of answer(`10.98.78.${i}`)) sendPacket(ground.wayOf('web'), packet);
    for (const packet of answer(`10.98.79.${i}`)) sendPacket(ground.wayOf('dns'), packet);
    if (counts) await ground.until(() => ground.isLearnt(`10.98.79.${i}`));
    await settled(i);
    expect(ground.isLearnt(`10.98.78.${i}`)).toBe(false);
    expect(ground.isLearnt(`10.98.79.${i}`)).toBe(counts);
  },
  60_000 * SLOW,
);

test.each([
  ['the node', NODE_ADDRESS as Address],
  ['a loopback of the node', '127.0.0.53' as Address],
  ['the node’s resolver of most clusters', '169.254.20.10' as Address],
  ['the pod itself', HOSTS.web[0]],
  ['all pods', '255.255.255.255' as Address],
])('C54: nothing is learnt from an answer in the name of %s', async (_, from) => {
  const number = 1 + Number(from.split('.')[3]);
  await openQuestion(RESOLVER.ip, 4_400);
  for (const host of ['web', 'evil', 'dns'] as const)
    sendPacket(
      ground.wayOf(host),
      udpPacket(from, HOSTS.web[0], 4_400, forgedAnswer(`10.98.80.${number % 250}`)),
    );
  await settled(100 + number);
  expect(ground.isLearnt(`10.98.80.${number % 250}`)).toBe(false);
});

test('C54: another pod’s question in this pod’s name, and its connection made beforehand, tell nothing', async () => {
  const [web, evil, dns] = [HOSTS.web[0], HOSTS.evil[0], HOSTS.dns[0]];
  // Answered honestly, if it came through: n7 has 10.98.0.7.
  const question = Buffer.from('0007010000010000000000000266380174076578616d706c650000010001', 'hex');
  question.write('n8', 13);
  sendPacket(ground.wayOf('evil'), udpPacket(web, RESOLVER.ip, 53, question, 4_500));
  // As if web had asked evil, and evil the resolver, from the port of resolvers.
  sendPacket(ground.wayOf('evil'), udpPacket(evil, RESOLVER.ip, 53, question, 53));
  sendPacket(ground.wayOf('web'), udpPacket(web, evil, 53, question, 4_501));
  sendPacket(ground.wayOf('evil'), udpPacket(evil, web, 4_501, forgedAnswer('10.98.81.1')));
  sendPacket(ground.wayOf('evil'), udpPacket(dns, web, 4_500, forgedAnswer('10.98.81.2')));
  await settled(200);
  expect(ground.elements().filter(each => /10\.98\.(81\.|0\.8$)/.test(each))).toEqual([]);
});
