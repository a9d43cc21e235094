/** One packet of a pod's, and whether it arrives behind the rules. */
import type { Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { until } from '../../support/until.ts';
import { protocolOf, transportOf } from './craft.ts';
import { Ear, type Heard } from './ear.ts';
import { FrameSocket } from './frame.ts';
import { ADDRESSES, type Ground, type Host } from './ground.ts';

export interface Attack {
  /** Who sends the frames. */
  readonly from: Host;
  /** Who listens. */
  readonly to: Host;
  /** Whole packets: fragments of one, or one. */
  readonly packets: readonly Uint8Array[];
  /** The listener's, at which the frame is sent: on a bridge a neighbour's, else the node's. `ff:…` for all. */
  readonly mac?: string;
  /** Types of VLAN tags of number 0, the outer one first. */
  readonly tags?: readonly number[];
  /** What is heard of it; else what is behind the only packet's IP header. */
  readonly heard?: Uint8Array;
  /** Of the packet that arrives at last, where it is not that of the only packet. */
  readonly protocol?: number;
}

/** Whom policy lets reach the listener: when its packet is heard, the attack's would have been. */
const MAY: Partial<Record<Host, Host>> = {
  victim: 'friend',
  node: 'loose',
  outside: 'loose',
  friend: 'loose',
  loose: 'friend',
  attacker: 'friend',
};

export function arrives(ground: Ground, attack: Attack): Promise<boolean> {
  const [first] = attack.packets;
  const family: Family = first![0]! >> 4 === 4 ? 'ip' : 'ip6';
  const wanted = Buffer.from(attack.heard ?? transportOf(first!));
  const what = {
    to: attack.to,
    family,
    protocol: attack.protocol ?? protocolOf(first!),
    matches: ({ payload }: Heard) => payload.equals(wanted),
  };
  return hears(ground, what, () => {
    const mac = attack.mac ?? gatewayMac(ground, attack.from);
    for (const one of attack.packets) send(ground, attack.from, one, mac, attack.tags);
  });
}

export interface Listening {
  readonly to: Host;
  readonly family: Family;
  readonly protocol: number;
  matches(heard: Heard): boolean;
}

/** Whether `act` makes a packet arrive. */
export async function hears(
  ground: Ground,
  what: Listening,
  act: () => void | Promise<void>,
): Promise<boolean> {
  const ear = new Ear(ground.path(what.to), what.family, what.protocol);
  try {
    await act();
    // Behind the first, whatever waited for a neighbour to be found has been sent.
    for (let times = 0; times < 2; times++) await control(ground, what.to, what.family);
    return ear.heard().some(what.matches);
  } finally {
    ear.close();
  }
}

export const CONTROL_PORT = 4000;
let controls = 0;

/**
 * A datagram behind the attack, on the same way as far as there is one. It is of the same family, so that it waits for
 * the same neighbour to be found.
 */
export async function control(ground: Ground, to: Host, like: Family): Promise<void> {
  const may = MAY[to]!;
  const family = ground.families.includes(like) ? like : ground.families[0]!;
  const ends = { from: ADDRESSES[may][family], to: ADDRESSES[to][family] };
  const datagram = packet({ ...ends, protocol: 'UDP', port: CONTROL_PORT, sourcePort: 20_000 + controls++ });
  const ear = new Ear(ground.path(to), family, 17);
  try {
    send(ground, may, datagram, gatewayMac(ground, may));
    const isIt = ({ payload }: Heard) => payload.equals(transportOf(datagram));
    await until(`${to} hears ${may}`, () => ear.heard().some(isIt));
  } finally {
    ear.close();
  }
}

function send(
  ground: Ground,
  from: Host,
  bytes: Uint8Array,
  mac: string,
  tags: readonly number[] = [],
): void {
  const device = from === 'outside' ? 'wire' : 'eth0';
  const socket = new FrameSocket(ground.path(from), ground.index(from, device), ground.mac(from, device));
  try {
    socket.send(bytes, mac, tags);
  } finally {
    socket.close();
  }
}

/** The node's end of the sender's link. */
export function gatewayMac(ground: Ground, from: Host): string {
  if (from === 'outside') return ground.mac('node');
  if (from === 'node') throw new TypeError('the node sends by its sockets');
  return ground.mac('node', ground.port(from));
}
