/** What is heard of who is denied everything, and why that is no way past policy. */
import type { Game } from './games.ts';
import type { Host, Wiring } from './network.ts';
import { type Frame, isPod, PLACES } from './packet.ts';

/** Of what was heard. */
export interface Heard {
  readonly frame: Frame;
  readonly hearer: Host;
  /** A whole frame; at a node what is behind the header of IPv6, or a packet of IPv4. */
  readonly data: Buffer;
  /** `FROM TO` of all packets that others than the adversary sent. */
  readonly others: ReadonlySet<string>;
  readonly wiring: Wiring;
}

interface Exception {
  readonly why: string;
  holds(heard: Heard): boolean;
}

const ICMPV6 = 58;
const isOwn = (frame: Frame, name: string) =>
  Object.values(PLACES[frame.by]).some(place => place.name === name);

const EXCEPTIONS: readonly Exception[] = [
  {
    why: 'neighbour discovery never leaves its link, and is never asked for by policy (N63)',
    holds: ({ frame: { content }, hearer }) =>
      content.kind === 'packet' &&
      content.packet.protocol === ICMPV6 &&
      [133, 135, 136].includes(content.packet.icmp[0]) &&
      content.packet.hops === 255 &&
      (hearer === 'n1' || isPod(hearer)),
  },
  {
    why: 'reports of multicast listeners to their groups (N69)',
    holds: ({ frame: { content }, hearer }) =>
      content.kind === 'packet' &&
      content.packet.protocol === ICMPV6 &&
      [131, 132, 143].includes(content.packet.icmp[0]) &&
      content.packet.hops === 1 &&
      content.packet.to.address.startsWith('ff') &&
      (hearer === 'n1' || isPod(hearer)),
  },
  {
    why: 'DHCP asks the node for an address (N69)',
    holds: ({ frame: { content }, hearer }) =>
      content.kind === 'packet' &&
      content.packet.from.address === '0.0.0.0' &&
      content.packet.to.address === '255.255.255.255' &&
      content.packet.protocol === 17 &&
      content.packet.sourcePort === 68 &&
      content.packet.port === 67 &&
      hearer === 'n1',
  },
  {
    why: 'that a packet is too big or has no way the node says before its sender is asked (docs/hardening.md)',
    holds: ({ hearer, data, wiring }) => wiring === 'ptp' && isErrorOfWay(data, hearer),
  },
  {
    why: 'packets of a connection that is open are believed by their addresses where pods are linked by a veth each (docs/hardening.md)',
    holds: ({ frame: { content }, others, wiring }) =>
      wiring === 'ptp' &&
      content.kind === 'packet' &&
      (others.has(`${content.packet.to.address} ${content.packet.from.address}`) ||
        others.has(`${content.packet.from.address} ${content.packet.to.address}`)),
  },
  {
    why: 'ARP as its own address, and the question who else has it, is how pods of a bridge find one another (N70)',
    holds: ({ frame, hearer, wiring }) =>
      frame.content.kind === 'arp' &&
      [1, 2].includes(frame.content.operation) &&
      (isOwn(frame, frame.content.from.name) ||
        (frame.content.from.address === '0.0.0.0' && isOwn(frame, frame.content.to.name))) &&
      wiring === 'bridge' &&
      isPod(hearer),
  },
  {
    why: 'a pod reaches its own address (N40); a bridge delivers it to whose hardware address it has (docs/hardening.md)',
    holds: ({ frame, hearer }) =>
      frame.content.kind === 'packet' && isOwn(frame, frame.content.packet.to.name) && isPod(hearer),
  },
];

/** Of ICMP and ICMPv6: no way there, too big, and by IPv6 also beyond the scope of its source. */
const OF_WAY: readonly (readonly [version: 4 | 6, type: number, code: number])[] = [
  [4, 3, 0],
  [4, 3, 4],
  [6, 1, 0],
  [6, 1, 2],
  [6, 2, 0],
];

/** Sockets of the node hear packets of IPv4 with their header, and those of IPv6 without. */
function isErrorOfWay(data: Buffer, hearer: Host): boolean {
  const packet = hearer === 'n1' ? data : data.subarray(14);
  if (packet[0]! >> 4 === 4 && packet[9] === 1) return isOfWay(4, packet.subarray((packet[0]! & 15) * 4));
  if (hearer === 'n1') return isOfWay(6, packet);
  return packet[0]! >> 4 === 6 && packet[6] === ICMPV6 && isOfWay(6, packet.subarray(40));
}

function isOfWay(version: 4 | 6, message: Buffer): boolean {
  return OF_WAY.some(([of, type, code]) => of === version && type === message[0] && code === message[1]);
}

/** Judged by what was sent, but for what others' frames are addressed to, which is to be the hearer's own. */
export function isExpected(heard: Heard, game: Game): boolean {
  if (EXCEPTIONS.some(each => each.holds(heard))) return true;
  const { frame, hearer, data } = heard;
  // Pods of one bridge that conspire (docs/hardening.md): to somebody whom policy allows, at another's hardware address.
  const isDeniedAll = game.denies(frame.by, 'outside') && game.denies(frame.by, 'friend');
  return !isDeniedAll && isPod(hearer) && !isAddressedTo(data, hearer);
}

/** Whether a frame's packet is to an address of the host's, or to a group. */
function isAddressedTo(data: Buffer, host: Host): boolean {
  const type = data.readUInt16BE(12);
  if (type === 0x0800)
    return data[30]! >= 224 || PLACES[host].ip.bytes.every((byte, i) => data[30 + i] === byte);
  if (type === 0x86dd)
    return data[38] === 0xff || PLACES[host].ip6.bytes.every((byte, i) => data[38 + i] === byte);
  return true;
}
