/** Random frames of a pod that may send nothing, of pieces that each mean harm. None is neighbour discovery, DHCP or ARP. */
import fc from 'fast-check';
import { address } from '../../../bench/lab/topology.ts';
import type { Address, Family } from '../../../src/model/address.ts';
import { macBytes } from '../../../src/model/mac.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import {
  changedByReassembly,
  EXTENSION,
  fragmentsOf,
  hiddenInPieces,
  transportOf,
  withExtensions,
  withHops,
  withOptions,
  withTransport,
} from './craft.ts';
import { ADDRESSES, GATEWAY, OTHER_NODE } from './ground.ts';

/** In every frame behind the transport's header: whoever has it in what he hears has heard of the pod. */
export const MARK = Buffer.from('nobody is to hear this');

export interface Frame {
  readonly macTo: number;
  readonly macFrom: number;
  readonly types: readonly number[];
  readonly packet: Uint8Array;
}

const HOSTS = [...Object.values(ADDRESSES), GATEWAY, OTHER_NODE];
const ODD: Record<Family, readonly Address[]> = {
  ip: [
    ...['0.0.0.0', '127.0.0.1', '224.0.0.1', '239.1.2.3', '255.255.255.255', '10.9.0.255', '10.9.0.0'],
    ...['10.9.0.77', '203.0.113.9', '169.254.1.1'],
  ].map(text => address(text)),
  ip6: [
    ...['::', '::1', 'ff02::1', 'ff05::1:3', 'ff0e::1', 'fe80::1', 'fd09::', 'fd09::77', '2001:db8::9'],
    ...['fd09::1100:0:0:11', '64:ff9b::a09:d', '2002:a09:d::1'],
  ].map(text => address(text)),
};
const OWN = ADDRESSES.attacker;
const OTHERS = HOSTS.filter(host => host !== OWN);
/** Half of all is said to be from the pod itself: whatever is not comes no further. */
const source = (family: Family) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(OWN[family]) },
    fc.constantFrom(...HOSTS.map(host => host[family])),
    fc.constantFrom(...ODD[family]),
  );
/** Not to itself (N40): on a bridge that reaches whoever listens for whole frames, as docs/hardening.md says. */
const destination = (family: Family) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...OTHERS.map(host => host[family])) },
    fc.constantFrom(...ODD[family]),
  );

const PROTOCOLS = [
  0, 1, 2, 4, 6, 17, 41, 43, 44, 47, 50, 51, 58, 59, 60, 88, 89, 103, 108, 132, 135, 136, 255,
];
const PORTS = [0, 22, 53, 67, 80, 179, 4789, 8472, 6081, 10_250];
const HOPS = [0, 1, 2, 64, 255];
/** Of ICMPv6 what neighbours and listeners say to their link: N63 and N69 let it pass. */
const OF_THE_LINK = [131, 132, 133, 135, 136, 143];

const content = (family: Family) =>
  fc
    .record({
      from: source(family),
      to: destination(family),
      protocol: fc.oneof(
        fc.constantFrom('TCP' as const, 'UDP' as const, 'SCTP' as const, 'ICMP' as const),
        fc.constantFrom(...PROTOCOLS),
      ),
      port: fc.constantFrom(...PORTS),
      // 68 to 67 of everybody is DHCP (N69).
      sourcePort: fc.constantFrom(53, 67, 49_152),
      tcpFlags: fc.nat(255),
      icmpType: fc.nat(255).filter(type => !OF_THE_LINK.includes(type)),
      hops: fc.constantFrom(...HOPS),
    })
    .map(({ hops, ...fields }) => {
      const plain = packet(fields);
      const transport = Buffer.concat([transportOf(plain), MARK]);
      if (fields.protocol === 'UDP') {
        transport.writeUInt16BE(transport.length, 4);
        transport.writeUInt16BE(0, 6);
      }
      return withHops(withTransport(plain, transport), hops);
    });

type Change = (packet: Uint8Array) => readonly Uint8Array[];
const identity: Change = one => [one];

const CHANGES: Record<Family, readonly Change[]> = {
  ip: [
    identity,
    one => fragmentsOf(one, 16),
    one => fragmentsOf(one, 8).toReversed(),
    ...[
      [7, 7, 4, 0, 0, 0, 0],
      [131, 7, 4, 172, 18, 9, 1],
      [137, 7, 4, 10, 9, 0, 12],
      [148, 4, 0, 0],
      [68, 3, 1],
    ].map(
      (bytes): Change =>
        one => [withOptions(one, bytes)],
    ),
  ],
  ip6: [
    identity,
    one => fragmentsOf(one, 16),
    one => fragmentsOf(one, 8).toReversed(),
    one => hiddenInPieces(one, 5),
    one => changedByReassembly(one, one, 0x11),
    one => [withTransport(one, Buffer.concat([WRONG_OPTION, transportOf(one)]), EXTENSION.hopByHop)],
    ...[[0], [60], [43], [44], [44, 44], [51], [60, 44, 60], [0, 60, 43, 44, 60]].map(
      (kinds): Change =>
        one => [withExtensions(one, kinds)],
    ),
  ],
};
const WRONG_OPTION = Buffer.from([17, 0, 0x9e, 4, 1, 2, 3, 4]);

const ETHERTYPE = { ip: 0x0800, ip6: 0x86dd } as const;
/** In front of the packet's own: tags, PPPoE, MPLS, RARP, LLDP, EAPOL, MACsec, loopback, a length (802.3), and of the other family. */
const TYPES = [
  [],
  [],
  [],
  [0x8100],
  [0x88a8, 0x8100],
  [0x8864],
  [0x8847],
  [0x8035],
  [0x88cc],
  [0x888e],
  [0x88e5],
  [0x9000],
  [40],
] as const;

/** All frames of one packet; `macs` is how many hardware addresses there are to choose from. */
export function frames(macs: number): fc.Arbitrary<readonly Frame[]> {
  return fc.constantFrom<Family>('ip', 'ip6').chain(family =>
    fc
      .record({
        plain: content(family),
        change: fc.constantFrom(...CHANGES[family]),
        macTo: fc.nat(macs - 1),
        macFrom: fc.constantFrom(0, 0, 0, 1, 2),
        types: fc.constantFrom(...TYPES),
        type: fc.constantFrom(
          ETHERTYPE[family],
          ETHERTYPE[family],
          ETHERTYPE[family],
          ...Object.values(ETHERTYPE),
        ),
      })
      .map(({ plain, change, macTo, macFrom, types, type }) =>
        change(plain).map(one => ({ macTo, macFrom, types: [...types, type], packet: one })),
      ),
  );
}

/** How a card is to cut a frame (struct virtio_net_hdr, the kernel's include/uapi), mostly as one of its kind is cut. */
export interface Offload {
  readonly needsChecksum: boolean;
  readonly odd: number | undefined;
  readonly pieces: number;
  readonly from: number | undefined;
}

export const offloads: fc.Arbitrary<Offload> = fc.record({
  needsChecksum: fc.boolean(),
  odd: fc.option(fc.constantFrom(0, 1, 3, 4, 5, 0x81), { nil: undefined, freq: 4 }),
  pieces: fc.constantFrom(1, 8, 16, 24, 64, 1400),
  from: fc.option(fc.nat(90), { nil: undefined, freq: 4 }),
});

export function offloadBytes({ needsChecksum, odd, pieces, from }: Offload, frame: Uint8Array): Uint8Array {
  const isV4 = frame[12] === 0x08;
  const transport = 14 + (isV4 ? (frame[14]! & 15) * 4 : 40);
  const isTcp = (isV4 ? frame[23] : frame[20]) === 6;
  const ofKind = isTcp ? (isV4 ? GSO.tcp4 : GSO.tcp6) : GSO.udp;
  const header = Buffer.from([needsChecksum ? 1 : 0, odd ?? ofKind, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt16LE(transport + (isTcp ? 20 : 8), 2);
  header.writeUInt16LE(pieces, 4);
  header.writeUInt16LE(from ?? transport, 6);
  header.writeUInt16LE(isTcp ? 16 : 6, 8);
  return Buffer.concat([header, frame]);
}

const GSO = { tcp4: 1, tcp6: 4, udp: 5 } as const;

/** Each tag is its type, and number 0. */
export function frameBytes({ types, packet }: Frame, to: string, from: string): Uint8Array {
  const type = Buffer.alloc(4 * types.length - 2);
  types.forEach((each, at) => {
    type.writeUInt16BE(each, 4 * at);
  });
  return Buffer.concat([Buffer.from([...macBytes(to), ...macBytes(from)]), type, packet]);
}

/** Whether a packet that was heard has the mark. */
export function isOurs(heard: Uint8Array): boolean {
  return Buffer.from(heard).includes(MARK.subarray(0, 8));
}
