/**
 * rtnetlink messages (`linux/rtnetlink.h`) from what is to be made: veth pairs, addresses, routes, neighbours. Numbers
 * in attributes are host-endian, unlike those of nf_tables; addresses are in network order.
 */
import {
  type Address,
  addressBits,
  addressBytes,
  type Cidr,
  type Family,
  familyOf,
} from '../../../model/address.ts';
import { type Mac, macBytes } from '../../../model/mac.ts';
import { NFPROTO } from '../nftables/constants.ts';
import type { AttributeWriter } from '../wire/attributes.ts';
import { NLM_F } from '../wire/constants.ts';
import { endMessage, MESSAGE_HEADER } from '../wire/messages.ts';
import {
  BRIDGE_INFO_GROUP_FORWARD,
  IFA,
  IFA_F_NODAD,
  IFF_UP,
  IFLA,
  IFLA_INET6_ADDR_GEN_MODE,
  IFLA_INFO,
  IN6_ADDR_GEN_MODE_NONE,
  NDA,
  NUD_PERMANENT,
  RT_SCOPE,
  RT_TABLE_MAIN,
  RTA,
  RTEXT_FILTER_SKIP_STATS,
  RTM,
  RTN,
  RTNH_F_ONLINK,
  VETH_INFO_PEER,
} from './constants.ts';

/** `sl` and thirteen letters at most: IFNAMSIZ is 16, with the zero. */
export type DeviceName = string;
/**
 * The id that this network namespace has for another one (RTM_GETNSID): with CAP_NET_ADMIN over that one, its links and
 * addresses can be read.
 */
export type NamespaceId = number;

/** In bytes. The kernel takes less than IFALIASZ (256), and counts the final zero that an attribute of text has. */
export const MAX_ALIAS = 254;

export interface VethPair {
  readonly name: DeviceName;
  readonly mac: Mac;
  readonly mtu: number;
  /** IFLA_GROUP: rules can match the interfaces of one group. */
  readonly group: number;
  readonly peer: {
    readonly name: DeviceName;
    readonly mac: Mac;
    /** A file that is open on the network namespace in which the peer is made. */
    readonly namespace: number;
  };
}

export interface LinkChange {
  readonly index: number;
  readonly up?: boolean;
  readonly alias?: string;
  /** The kernel gives the interface no IPv6 address of its own. */
  readonly noOwnAddress?: boolean;
}

export interface Route {
  readonly destination: Cidr;
  /** Index of the interface; absent where the route says that there is no way. */
  readonly device?: number;
  readonly gateway?: Address;
  /** The source address of packets that this machine itself sends by the route. */
  readonly source?: Address;
  /** `local`: an address of this namespace; only read, never made. */
  readonly type?: 'unicast' | 'unreachable' | 'local';
  /** rtm_protocol: who made it. */
  readonly protocol: number;
  readonly metric?: number;
}

export interface Neighbour {
  readonly device: number;
  readonly address: Address;
  readonly mac: Mac;
}

/** Whether what exists already is refused (EEXIST) or replaced. */
export type Existing = 'refuse' | 'replace';

const FLAGS: Record<Existing, number> = {
  refuse: NLM_F.CREATE | NLM_F.EXCL,
  replace: NLM_F.CREATE | NLM_F.REPLACE,
};

export function writeNewVeth(to: AttributeWriter, sequence: number, pair: VethPair): void {
  message(to, RTM.NEWLINK, FLAGS.refuse | NLM_F.ACK, sequence, ifinfo(), () => {
    to.string(IFLA.IFNAME, pair.name);
    bytes(to, IFLA.ADDRESS, macBytes(pair.mac));
    u32(to, IFLA.MTU, pair.mtu);
    u32(to, IFLA.GROUP, pair.group);
    to.nest(IFLA.LINKINFO, () => {
      to.string(IFLA_INFO.KIND, 'veth');
      to.nest(IFLA_INFO.DATA, () =>
        to.nest(VETH_INFO_PEER, () => {
          header(to, ifinfo());
          to.string(IFLA.IFNAME, pair.peer.name);
          bytes(to, IFLA.ADDRESS, macBytes(pair.peer.mac));
          u32(to, IFLA.MTU, pair.mtu);
          u32(to, IFLA.NET_NS_FD, pair.peer.namespace);
        }),
      );
    });
  });
}

export function writeSetLink(to: AttributeWriter, sequence: number, change: LinkChange): void {
  message(to, RTM.NEWLINK, NLM_F.ACK, sequence, ifinfo(change.index, change.up ? IFF_UP : 0), () => {
    if (change.alias !== undefined) to.string(IFLA.IFALIAS, change.alias);
    if (change.noOwnAddress)
      to.nest(IFLA.AF_SPEC, () =>
        to.nest(NFPROTO.ip6, () => u8(to, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE)),
      );
  });
}

/** Has a bridge forward frames to these of the addresses 01:80:c2:00:00:0X, a bit for each X, and no others. */
export function writeGroupForward(to: AttributeWriter, sequence: number, index: number, mask: number): void {
  message(to, RTM.NEWLINK, NLM_F.ACK, sequence, ifinfo(index), () => {
    to.nest(IFLA.LINKINFO, () => {
      to.string(IFLA_INFO.KIND, 'bridge');
      to.nest(IFLA_INFO.DATA, () => bytes(to, BRIDGE_INFO_GROUP_FORWARD, [mask & 255, mask >> 8]));
    });
  });
}

/** Removes an interface; of a veth pair, both. */
export function writeDelLink(to: AttributeWriter, sequence: number, index: number): void {
  message(to, RTM.DELLINK, NLM_F.ACK, sequence, ifinfo(index), () => {});
}

/** Asks for one interface by name, or for all. */
export function writeGetLink(to: AttributeWriter, sequence: number, name?: DeviceName): void {
  message(to, RTM.GETLINK, name === undefined ? NLM_F.DUMP : 0, sequence, ifinfo(), () => {
    if (name !== undefined) to.string(IFLA.IFNAME, name);
    u32(to, IFLA.EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  });
}

/** Asks for the interface with that index of another network namespace. */
export function writeGetLinkIn(
  to: AttributeWriter,
  sequence: number,
  namespace: NamespaceId,
  index: number,
): void {
  message(to, RTM.GETLINK, 0, sequence, ifinfo(index), () => {
    u32(to, IFLA.EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    u32(to, IFLA.TARGET_NETNSID, namespace);
  });
}

/** The address alone, without a network around it, and valid at once: without duplicate address detection. */
export function writeNewAddress(
  to: AttributeWriter,
  sequence: number,
  device: number,
  address: Address,
): void {
  const family = familyOf(address);
  const flags = family === 'ip6' ? IFA_F_NODAD : 0;
  // struct ifaddrmsg: family, prefix, flags, scope (universe); index.
  const fixed = [word(NFPROTO[family], addressBits(family), flags, 0), device];
  message(to, RTM.NEWADDR, FLAGS.replace | NLM_F.ACK, sequence, fixed, () => {
    bytes(to, IFA.LOCAL, addressBytes(address));
    bytes(to, IFA.ADDRESS, addressBytes(address));
  });
}

/** Asks for all addresses; with `namespace` for those of another network namespace. */
export function writeGetAddresses(to: AttributeWriter, sequence: number, namespace?: NamespaceId): void {
  message(to, RTM.GETADDR, NLM_F.DUMP, sequence, [0, 0], () => {
    if (namespace !== undefined) u32(to, IFA.TARGET_NETNSID, namespace);
  });
}

export function writeNewRoute(to: AttributeWriter, sequence: number, route: Route, existing: Existing): void {
  writeRoute(to, RTM.NEWROUTE, FLAGS[existing] | NLM_F.ACK, sequence, route);
}

export function writeDelRoute(to: AttributeWriter, sequence: number, route: Route): void {
  writeRoute(to, RTM.DELROUTE, NLM_F.ACK, sequence, route);
}

function writeRoute(to: AttributeWriter, type: number, flags: number, sequence: number, route: Route): void {
  const { destination, gateway, source, device, metric } = route;
  const scope = gateway === undefined && route.type !== 'unreachable' ? RT_SCOPE.LINK : RT_SCOPE.UNIVERSE;
  const kind = route.type === 'unreachable' ? RTN.UNREACHABLE : RTN.UNICAST;
  const fixed = rtmsg(destination.family, destination.prefix, {
    table: RT_TABLE_MAIN,
    protocol: route.protocol,
    scope: destination.family === 'ip6' ? RT_SCOPE.UNIVERSE : scope,
    kind,
    // The gateway of a pod is on no network of its own.
    flags: gateway === undefined ? 0 : RTNH_F_ONLINK,
  });
  message(to, type, flags, sequence, fixed, () => {
    if (destination.prefix > 0) bytes(to, RTA.DST, addressBytes(destination.base));
    if (gateway !== undefined) bytes(to, RTA.GATEWAY, addressBytes(gateway));
    if (source !== undefined) bytes(to, RTA.PREFSRC, addressBytes(source));
    if (device !== undefined) u32(to, RTA.OIF, device);
    if (metric !== undefined) u32(to, RTA.PRIORITY, metric);
  });
}

/** Asks for all routes of a family in the main table that `protocol` made; older kernels answer more than that. */
export function writeGetRoutes(
  to: AttributeWriter,
  sequence: number,
  family: Family,
  protocol: number,
): void {
  const fixed = rtmsg(family, 0, { table: RT_TABLE_MAIN, protocol, scope: 0, kind: 0, flags: 0 });
  message(to, RTM.GETROUTE, NLM_F.DUMP, sequence, fixed, () => u32(to, RTA.TABLE, RT_TABLE_MAIN));
}

/** Asks which way a packet to `address` would go. */
export function writeGetRouteTo(to: AttributeWriter, sequence: number, address: Address): void {
  const family = familyOf(address);
  const fixed = rtmsg(family, addressBits(family), { table: 0, protocol: 0, scope: 0, kind: 0, flags: 0 });
  message(to, RTM.GETROUTE, 0, sequence, fixed, () => bytes(to, RTA.DST, addressBytes(address)));
}

/** A neighbour that is known for good, and never asked for. */
export function writeNeighbour(to: AttributeWriter, sequence: number, neighbour: Neighbour): void {
  const { device, address } = neighbour;
  // struct ndmsg: family; index; state, flags, type.
  const fixed = [NFPROTO[familyOf(address)], device, NUD_PERMANENT];
  message(to, RTM.NEWNEIGH, FLAGS.replace | NLM_F.ACK, sequence, fixed, () => {
    bytes(to, NDA.DST, addressBytes(address));
    bytes(to, NDA.LLADDR, macBytes(neighbour.mac));
  });
}

/** struct ifinfomsg: family, type; index; flags; which of them are meant. */
function ifinfo(index = 0, flags = 0): number[] {
  return [0, index, flags, flags];
}

interface RouteHeader {
  readonly table: number;
  readonly protocol: number;
  readonly scope: number;
  readonly kind: number;
  readonly flags: number;
}

/** struct rtmsg: family, length of destination, of source, tos; table, protocol, scope, type; flags. */
function rtmsg(
  family: Family,
  prefix: number,
  { table, protocol, scope, kind, flags }: RouteHeader,
): number[] {
  return [word(NFPROTO[family], prefix, 0, 0), word(table, protocol, scope, kind), flags];
}

function message(
  to: AttributeWriter,
  type: number,
  flags: number,
  sequence: number,
  fixed: readonly number[],
  attributes: () => void,
): void {
  const start = to.length;
  to.reserve(MESSAGE_HEADER);
  to.word(0);
  to.word(((NLM_F.REQUEST | flags) << 16) | type);
  to.word(sequence);
  to.word(0); // nlmsg_pid: the kernel knows the socket
  header(to, fixed);
  attributes();
  endMessage(to, start);
}

function header(to: AttributeWriter, words: readonly number[]): void {
  to.reserve(4 * words.length);
  for (const value of words) to.word(value);
}

function word(first: number, second: number, third: number, fourth: number): number {
  return first | (second << 8) | (third << 16) | (fourth << 24);
}

function u8(to: AttributeWriter, type: number, value: number): void {
  bytes(to, type, [value]);
}

function u32(to: AttributeWriter, type: number, value: number): void {
  to.reserve(8);
  to.word((type << 16) | 8);
  to.word(value);
}

function bytes(to: AttributeWriter, type: number, values: ArrayLike<number>): void {
  const at = to.blank(type, values.length);
  to.buffer.set(values, at);
}
