/**
 * Adds elements by control packets (names/control.ts): without a transaction or a new generation, in microseconds. The
 * rule that handles a control packet also drops it. The sender sees that as EPERM, which shows that the element is in
 * the set.
 */

import {
  AF_INET,
  AF_INET6,
  close,
  EPERM,
  errno,
  RAW,
  SOL_SOCKET,
  setsockopt,
  socket,
} from '../../kernel/netlink/wire/libc.ts';
import { type Address, addressBytes, familyOf } from '../../model/address.ts';
import { CONTROL_MARK, type Command, commandDestination, sourcePort } from '../../names/control.ts';
import { check, type Fixed, fixed, sendto } from './libc.ts';

const IPPROTO_RAW = 255;
const IPPROTO_IPV6 = 41;
const IPV6_HDRINCL = 36;
const SO_MARK = 36;
const UDP = 17;
/** A UDP length that no datagram has: if no rule takes the packet, its receiver drops it without an answer. */
const NO_LENGTH = 0xffff;

/** One family's socket, with a packet that only its addresses and ports change in. */
interface Way {
  readonly fd: number;
  readonly packet: Fixed;
  readonly target: Fixed;
  /** Offsets of source address, destination address and ports in the packet, and of the address in `target`. */
  readonly source: number;
  readonly destination: number;
  readonly ports: number;
  readonly targetAddress: number;
}

const LOOPBACK = { ip: addressBytes('127.0.0.1' as Address), ip6: addressBytes('::1' as Address) } as const;

export class ControlSocket {
  readonly #ways: { readonly ip: Way; readonly ip6: Way };

  /** Opens sockets in the network namespace of this thread. Throws where CAP_NET_RAW or CAP_NET_ADMIN is missing. */
  constructor() {
    this.#ways = { ip: openV4(), ip6: openV6() };
  }

  /** Whether a rule took it. */
  tell(command: Command, pod: Address, peer: Address): boolean {
    const way = this.#ways[familyOf(pod)];
    const { packet } = way;
    const podBytes = addressBytes(pod);
    packet.bytes.set(addressBytes(peer), way.source);
    packet.bytes.set(podBytes, way.destination);
    packet.bytes.writeUInt16BE(sourcePort(command), way.ports);
    packet.bytes.writeUInt16BE(commandDestination(command), way.ports + 2);
    return wasTaken(way, podBytes) ?? wasTaken(way, LOOPBACK[familyOf(pod)]) ?? false;
  }

  close(): void {
    close(this.#ways.ip.fd);
    close(this.#ways.ip6.fd);
  }
}

/** Whether the rule took the packet; undefined if there is no route to its destination, as for a pod that has ended. */
function wasTaken({ fd, packet, target, targetAddress }: Way, to: Uint8Array): boolean | undefined {
  target.bytes.set(to, targetAddress);
  const sent = sendto(fd, packet.at, packet.bytes.length, 0, target.at, target.bytes.length);
  if (sent >= 0) return false;
  return errno() === EPERM ? true : undefined;
}

function openV4(): Way {
  const fd = check('raw socket', socket(AF_INET, RAW, IPPROTO_RAW));
  mark(fd);
  const [packet, target] = [fixed(28), fixed(16)];
  packet.bytes.writeUInt16BE(0x4500, 0);
  packet.bytes.writeUInt16BE(28, 2);
  packet.bytes[8] = 1;
  packet.bytes[9] = UDP;
  packet.bytes.writeUInt16BE(NO_LENGTH, 24);
  target.bytes.writeUInt16LE(AF_INET, 0);
  return { fd, packet, target, source: 12, destination: 16, ports: 20, targetAddress: 4 };
}

function openV6(): Way {
  const fd = check('raw IPv6 socket', socket(AF_INET6, RAW, IPPROTO_RAW));
  check('IPV6_HDRINCL', setsockopt(fd, IPPROTO_IPV6, IPV6_HDRINCL, [1], 4));
  mark(fd);
  const [packet, target] = [fixed(48), fixed(28)];
  packet.bytes[0] = 0x60;
  packet.bytes.writeUInt16BE(8, 4);
  packet.bytes[6] = UDP;
  packet.bytes[7] = 1;
  packet.bytes.writeUInt16BE(NO_LENGTH, 44);
  target.bytes.writeUInt16LE(AF_INET6, 0);
  return { fd, packet, target, source: 8, destination: 24, ports: 40, targetAddress: 8 };
}

function mark(fd: number): void {
  check('SO_MARK', setsockopt(fd, SOL_SOCKET, SO_MARK, [CONTROL_MARK], 4));
}
