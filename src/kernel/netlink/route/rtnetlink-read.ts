/** Reads the answers of rtnetlink: interfaces, addresses and routes, as far as the pod network needs them. */
import {
  type Address,
  addressFromBytes,
  type Cidr,
  networkOf,
  parseAddress,
} from '../../../model/address.ts';
import { broadcastsOf } from '../../../model/broadcasts.ts';
import type { Tunnels } from '../../../model/cluster.ts';
import type { Mac } from '../../../model/mac.ts';
import { FLANNEL_UDP_PORT } from '../../../model/tunnels.ts';
import { NFPROTO } from '../nftables/constants.ts';
import { readAttributes, readHex, readString, type Span } from '../wire/attributes.ts';
import type { Message } from '../wire/messages.ts';
import {
  BRIDGE_INFO_GROUP_FORWARD,
  GRE_INFO_ENCAP,
  IFA,
  IFF_RUNNING,
  IFF_UP,
  IFLA,
  IFLA_INFO,
  IPPROTO,
  IPTUN_INFO_ENCAP,
  RT_TABLE_MAIN,
  RTA,
  RTN,
  TUNNEL_ENCAP_NONE,
  TUNNEL_INFO_PORT,
} from './constants.ts';
import type { DeviceName, NamespaceId, Route } from './rtnetlink.ts';

export interface Link {
  readonly index: number;
  readonly name: DeviceName;
  /** Empty where it has none. */
  readonly mac: Mac;
  readonly mtu: number;
  readonly group: number;
  /** Set up by an administrator, and carrying packets. */
  readonly running: boolean;
  readonly alias?: string;
  /** `veth`, `bridge`, …; absent for hardware. */
  readonly kind?: string;
  /** The index of the bridge or bond that it is a port of. */
  readonly master?: number;
  /** The other end of a pair, where it is in another network namespace. */
  readonly peer?: VethPeer;
  /** IFLA_BR_GROUP_FWD_MASK; set only for a bridge. */
  readonly groupForward?: number;
  /** The tunnels that arrive at it, if it is up and a tunnel device. */
  readonly tunnel?: Tunnels;
}

interface VethPeer {
  readonly namespace: NamespaceId;
  /** Over there. */
  readonly index: number;
}

export interface DeviceAddress {
  readonly device: number;
  readonly address: Address;
  /** The network of the address. */
  readonly network: Cidr;
  /** The broadcast addresses of its network, and a configured one; absent if there are none. */
  readonly broadcasts?: readonly Address[];
}

const RUNNING = IFF_UP | IFF_RUNNING;
const IFINFO = 16;
const IFADDR = 8;
const RTMSG = 12;

export function readLink({ payload }: Message): Link {
  const attributes = readAttributes(behind(payload, IFINFO));
  const info = attributes.get(IFLA.LINKINFO);
  const kind = info && readAttributes(info).get(IFLA_INFO.KIND);
  const alias = attributes.get(IFLA.IFALIAS);
  const master = attributes.get(IFLA.MASTER);
  const flags = payload.bytes.readUInt32LE(payload.start + 8);
  // A tunnel that is down takes in nothing; the kernel makes some in every namespace.
  const isUp = (flags & IFF_UP) !== 0;
  const name = readString(attributes.get(IFLA.IFNAME)!);
  const tunnel = info && kind && isUp ? tunnelOf(readString(kind), name, info) : undefined;
  const peer = peerOf(attributes.get(IFLA.LINK_NETNSID), attributes.get(IFLA.LINK));
  return {
    index: payload.bytes.readInt32LE(payload.start + 4),
    name,
    mac: macText(attributes.get(IFLA.ADDRESS)),
    mtu: hostU32(attributes.get(IFLA.MTU)),
    group: hostU32(attributes.get(IFLA.GROUP)),
    running: (flags & RUNNING) === RUNNING,
    ...(alias && { alias: readString(alias) }),
    ...(kind && { kind: readString(kind) }),
    ...(master && { master: hostU32(master) }),
    ...(peer && { peer }),
    ...(tunnel && { tunnel }),
    ...(kind && readString(kind) === 'bridge' && { groupForward: groupForwardOf(info) }),
  };
}

function groupForwardOf(info: Span): number {
  const data = readAttributes(info).get(IFLA_INFO.DATA);
  return data === undefined ? 0 : hostU16(readAttributes(data).get(BRIDGE_INFO_GROUP_FORWARD));
}

/** Protocols by the kind of a link. Those of SIT and of tunnels in IPv6 take in either version of IP. */
const TUNNEL_KINDS: Readonly<Record<string, readonly number[]>> = {
  vxlan: [],
  geneve: [],
  bareudp: [],
  ipip: [IPPROTO.IPIP],
  sit: [IPPROTO.IPIP, IPPROTO.IPV6],
  ip6tnl: [IPPROTO.IPIP, IPPROTO.IPV6],
  gre: [IPPROTO.GRE],
  gretap: [IPPROTO.GRE],
  erspan: [IPPROTO.GRE],
  ip6gre: [IPPROTO.GRE],
  ip6gretap: [IPPROTO.GRE],
  ip6erspan: [IPPROTO.GRE],
};

function tunnelOf(kind: string, name: string, info: Span): Tunnels | undefined {
  // The kernel does not know where a program takes in what it writes to such an interface.
  if (kind === 'tun' && name === 'flannel0') return { ports: [FLANNEL_UDP_PORT], protocols: [] };
  const protocols = Object.hasOwn(TUNNEL_KINDS, kind) ? TUNNEL_KINDS[kind] : undefined;
  if (protocols === undefined) return undefined;
  const span = readAttributes(info).get(IFLA_INFO.DATA);
  if (span === undefined) return { ports: [], protocols };
  const data = readAttributes(span);
  const encap = protocols.includes(IPPROTO.GRE) ? GRE_INFO_ENCAP : IPTUN_INFO_ENCAP;
  const isWrapped = protocols.length > 0 && hostU16(data.get(encap.TYPE)) !== TUNNEL_ENCAP_NONE;
  const port = data.get(TUNNEL_INFO_PORT[kind] ?? (isWrapped ? encap.DPORT : NO_ATTRIBUTE));
  const number = port === undefined ? 0 : port.bytes.readUInt16BE(port.start);
  return { ports: number === 0 ? [] : [number], protocols };
}

/** NLA_UNSPEC: no message has it. */
const NO_ATTRIBUTE = 0;

function peerOf(namespace: Span | undefined, index: Span | undefined): VethPeer | undefined {
  if (namespace === undefined || index === undefined) return undefined;
  return { namespace: hostU32(namespace), index: hostU32(index) };
}

export function readDeviceAddress({ payload }: Message): DeviceAddress | undefined {
  const attributes = readAttributes(behind(payload, IFADDR));
  // IFA_ADDRESS is the other end on a link of two; without IFA_LOCAL it is our own.
  const address = addressOf(attributes.get(IFA.LOCAL) ?? attributes.get(IFA.ADDRESS));
  if (address === undefined) return undefined;
  const network = networkOf(address, payload.bytes[payload.start + 1]!);
  const given = addressOf(attributes.get(IFA.BROADCAST));
  const broadcasts = [...new Set([...broadcastsOf([network]), ...(given ? [given] : [])])];
  const device = payload.bytes.readInt32LE(payload.start + 4);
  return { device, address, network, ...(broadcasts.length > 0 && { broadcasts }) };
}

/** Reads a route from a dump, which has the routes of all tables; undefined for those of other tables. */
export function readRouteOfMain(message: Message): Route | undefined {
  return tableOf(message.payload) === RT_TABLE_MAIN ? readRoute(message) : undefined;
}

function tableOf(payload: Span): number {
  const table = readAttributes(behind(payload, RTMSG)).get(RTA.TABLE);
  return table === undefined ? payload.bytes[payload.start + 4]! : hostU32(table);
}

/** A route of any table: a rule may lead an address to another one than the main. Undefined for a kind that we do not make. */
export function readRoute({ payload }: Message): Route | undefined {
  const { bytes, start } = payload;
  const family = ([['ip', NFPROTO.ip] as const, ['ip6', NFPROTO.ip6] as const] as const).find(
    ([, number]) => number === bytes[start],
  )?.[0];
  const kind = bytes[start + 7];
  if (family === undefined || (kind !== RTN.UNICAST && kind !== RTN.UNREACHABLE && kind !== RTN.LOCAL))
    return undefined;
  const attributes = readAttributes(behind(payload, RTMSG));
  const zero = family === 'ip' ? '0.0.0.0' : '::';
  const destination: Cidr = networkOf(
    addressOf(attributes.get(RTA.DST)) ?? parseAddress(zero)!,
    bytes[start + 1]!,
  );
  const [gateway, source] = [RTA.GATEWAY, RTA.PREFSRC].map(type => addressOf(attributes.get(type)));
  const [device, metric] = [RTA.OIF, RTA.PRIORITY].map(type => attributes.get(type));
  return {
    destination,
    ...(device && kind !== RTN.UNREACHABLE && { device: hostU32(device) }),
    ...(gateway && { gateway }),
    ...(source && { source }),
    ...(kind !== RTN.UNICAST && { type: kind === RTN.LOCAL ? ('local' as const) : ('unreachable' as const) }),
    ...(metric && { metric: hostU32(metric) }),
    protocol: bytes[start + 5]!,
  };
}

function behind({ bytes, start, end }: Span, size: number): Span {
  return { bytes, start: Math.min(start + size, end), end };
}

function addressOf(span: Span | undefined): Address | undefined {
  const length = span && span.end - span.start;
  if (length !== 4 && length !== 16) return undefined;
  return addressFromBytes(span!.bytes.subarray(span!.start, span!.end));
}

function macText(span: Span | undefined): Mac {
  return span === undefined ? '' : readHex(span).replace(/(..)(?=.)/g, '$1:');
}

function hostU16(span: Span | undefined): number {
  return span === undefined ? 0 : span.bytes.readUInt16LE(span.start);
}

function hostU32(span: Span | undefined): number {
  return span === undefined ? 0 : span.bytes.readUInt32LE(span.start);
}
