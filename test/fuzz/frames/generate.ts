/** Frames of an adversary's, of pieces that each mean harm. */
import type { Family } from '../../../src/model/address.ts';
import { changesOf } from './changes.ts';
import type { Draws } from './draws.ts';
import type { SenderName } from './games.ts';
import { ENDS, type Frame, MACS, type Mac, type Packet, PLACES, type Place, type Wrap } from './packet.ts';

const NOBODY = { ip: ENDS.ip.odd[0]!, ip6: ENDS.ip6.odd[0]! } as const;
const PORTS = [
  53, 67, 68, 80, 443, 4789, 5353, 5355, 5555, 6080, 6081, 8472, 546, 547, 10_250, 9910, 0, 65_535,
];
const TUNNEL_PORTS: Readonly<Record<Wrap, readonly number[]>> = {
  vxlan: [8472, 4789],
  geneve: [6081],
  fou: [5555],
  gue: [6080],
  gre: [],
  'gre-ethernet': [],
  ip: [],
};
const WRAPS: readonly Wrap[] = [
  'vxlan',
  'vxlan',
  'vxlan',
  'geneve',
  'fou',
  'gue',
  'gre',
  'gre-ethernet',
  'ip',
];
const PROTOCOLS = [
  0, 1, 2, 4, 6, 17, 33, 41, 43, 44, 47, 50, 51, 58, 59, 60, 88, 89, 103, 108, 132, 135, 136, 255,
];
const UDP = 17;
const [TCP, ICMP, ICMPV6, SCTP] = [6, 1, 58, 132];
const SYN = 2;
const [SYN_ACK, ACK, PSH_ACK, RST, FIN_ACK] = [18, 16, 24, 4, 17];
const HOPS = [64, 255, 1, 2, 0];
/** Of IPv4 and IPv6: echo, then the others that a host knows. */
const ICMP_TYPES: Readonly<Record<Family, readonly number[]>> = {
  ip: [8, 0, 3, 4, 5, 9, 10, 11, 12, 13, 17, 42],
  ip6: [128, 129, 1, 2, 3, 4, 130, 131, 132, 133, 134, 135, 136, 137, 143, 148, 151, 160],
};
const OTHER_TYPES = [
  [0x8100],
  [0x8100],
  [0x88a8, 0x8100],
  [0x8864],
  [0x8863],
  [0x8847],
  [0x8848],
  [0x8035],
  [0x88cc],
  [0x888e],
  [0x88e5],
  [0x9000],
  [0x9100],
  [40],
] as const;
const LENGTHS = [
  40, 1500, 0x8137, 0x86dd, 0x0800, 0x0806, 0x8035, 0x8864, 0x8847, 0x88cc, 0x8100, 0x6558, 0x88f7,
];

export function fresh(draws: Draws, by: SenderName): Frame {
  const family: Family = draws.once(2) ? 'ip6' : 'ip';
  if (draws.once(24)) return arpOrOther(draws, by);
  if (draws.once(32)) return withMacs(draws, by, likeDhcp(draws, by));
  return withMacs(draws, by, packetOf(draws, by, family));
}

export function withMacs(draws: Draws, by: SenderName, packet: Packet): Frame {
  const content = { kind: 'packet', packet } as const;
  const types = draws.once(10) ? draws.pick(OTHER_TYPES) : [];
  return { by, toMac: receiver(draws), fromMac: senderMac(draws), types, content };
}

function receiver(draws: Draws): Mac {
  return draws.once(2) ? draws.pick(MACS) : 'route';
}

function senderMac(draws: Draws): Mac {
  return draws.once(12) ? draws.pick(MACS) : 'own';
}

function arpOrOther(draws: Draws, by: SenderName): Frame {
  const macs = { by, toMac: draws.pick(MACS), fromMac: senderMac(draws), types: [] };
  if (draws.once(2))
    return {
      ...macs,
      content: { kind: 'other', type: draws.once(4) ? draws.below(65_536) : draws.pick(LENGTHS) },
    };
  const operation = draws.once(3) ? draws.below(26) : 1 + draws.below(2);
  const from = source(draws, by, 'ip');
  return {
    ...macs,
    content: { kind: 'arp', operation, from, to: draws.pick(ENDS.ip.all), senderMac: senderMac(draws) },
  };
}

/** DHCP, or nearly. */
function likeDhcp(draws: Draws, by: SenderName): Packet {
  const packet = packetOf(draws, by, 'ip', 2);
  return {
    ...packet,
    from: draws.once(4) ? packet.from : NOBODY.ip,
    to: draws.once(3) ? packet.to : ENDS.ip.odd.find(({ name }) => name === '255.255.255.255')!,
    protocol: UDP,
    sourcePort: draws.once(4) ? packet.sourcePort : 68,
    port: draws.once(4) ? packet.port : 67,
    change: 0,
  };
}

/** A packet of the adversary's, in none of or in one or two others. */
export function packetOf(draws: Draws, by: SenderName, family: Family, depth = 0): Packet {
  const ends = { from: source(draws, by, family), to: draws.pick(ENDS[family].all) };
  const change = draws.once(8) ? draws.below(changesOf(family).length) : 0;
  const plain: Packet = {
    family,
    ...ends,
    protocol: protocol(draws, family),
    sourcePort: port(draws, 49_152),
    port: port(draws, 53),
    tcpFlags: draws.pick([SYN, SYN, SYN, SYN_ACK, ACK, PSH_ACK, RST, FIN_ACK, 0, 255]),
    icmp: [draws.pick(ICMP_TYPES[family]), draws.once(4) ? draws.below(256) : 0],
    hops: draws.once(4) ? draws.pick(HOPS) : 64,
    repeats: repeats(draws),
    change,
  };
  return draws.once(depth === 0 ? 5 : 8) && depth < 2 ? wrapped(draws, by, plain, depth) : plain;
}

function wrapped(draws: Draws, by: SenderName, plain: Packet, depth: number): Packet {
  const outer = draws.once(2) ? plain : { ...plain, ...toNode(draws, by, plain.family), change: 0 };
  const wrap = draws.pick(WRAPS);
  const family: Family = draws.once(3) ? (outer.family === 'ip' ? 'ip6' : 'ip') : outer.family;
  const inside = { by: wrap, packet: innerOf(draws, by, family, depth) };
  const [usual] = TUNNEL_PORTS[wrap];
  if (usual !== undefined)
    return {
      ...outer,
      protocol: UDP,
      port: draws.once(4) ? outer.port : draws.pick(TUNNEL_PORTS[wrap]),
      inside,
    };
  const protocol = wrap === 'ip' ? (family === 'ip' ? 4 : 41) : 47;
  return { ...outer, protocol, inside };
}

/** As itself, to an address of a node that its status may not have, or to a Service that may lead there. */
function toNode(draws: Draws, by: SenderName, family: Family): Pick<Packet, 'from' | 'to'> {
  const { nodes, services } = ENDS[family];
  return { from: PLACES[by][family], to: draws.pick(draws.once(3) ? services : nodes) };
}

/** From somebody to somebody who may hear him, or not. */
function innerOf(draws: Draws, by: SenderName, family: Family, depth: number): Packet {
  if (draws.once(6)) return packetOf(draws, by, family, depth + 1);
  const from = draws.pick([PLACES.friend, PLACES.remote, PLACES.outside, PLACES.n1, PLACES.n2])[family];
  const to = draws.pick([PLACES.sealed, PLACES.victim, PLACES.friend, PLACES.remote, PLACES.outside])[family];
  const rest = {
    sourcePort: 49_152,
    port: 53,
    tcpFlags: SYN,
    icmp: [8, 0],
    hops: 64,
    repeats: 1,
    change: 0,
  } as const;
  return { family, from, to, protocol: UDP, ...rest };
}

/** Mostly itself: whatever is not comes no further. */
function source(draws: Draws, by: SenderName, family: Family): Place {
  switch (draws.below(8)) {
    case 3:
      return NOBODY[family];
    case 4:
      return draws.pick(ENDS[family].odd);
    case 5:
      return draws.pick(ENDS[family].hosts);
    case 6:
      return draws.pick(ENDS[family].all);
    default:
      return PLACES[by][family];
  }
}

function protocol(draws: Draws, family: Family): number {
  const icmp = family === 'ip' ? ICMP! : ICMPV6!;
  switch (draws.below(10)) {
    case 5:
      return TCP!;
    case 6:
      return icmp;
    case 7:
      return draws.pick(PROTOCOLS);
    case 8:
      return draws.below(256);
    case 9:
      return draws.pick([TCP!, icmp, SCTP!]);
    default:
      return UDP;
  }
}

function port(draws: Draws, usual: number): number {
  switch (draws.below(4)) {
    case 0:
      return usual;
    case 1:
      return draws.below(65_536);
    default:
      return draws.pick(PORTS);
  }
}

export function repeats(draws: Draws): number {
  return draws.once(10) ? draws.pick([40, 6, 130]) : draws.pick([1, 1, 3]);
}
