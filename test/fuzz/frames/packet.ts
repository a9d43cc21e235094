/** What a frame says, as data: the bytes are made of it (bytes.ts), and people read it (text.ts). */
import { type Address, addressBytes, type Family } from '../../../src/model/address.ts';
import {
  ADDRESSES,
  address,
  bridgeHardware,
  GATEWAYS,
  gatewayHardware,
  type Host,
  hardwareAddress,
  linkLocal,
  NO_ENDPOINTS,
  nodeOf,
  OVERLAY,
  overlayHardware,
  type Pair,
  PODS,
  type PodName,
  SECONDARY,
  SERVICES,
  type Wiring,
} from './network.ts';

/** An address by its name. */
export interface Place {
  readonly name: string;
  readonly address: Address;
  readonly bytes: Uint8Array;
  /** Who has it, of those who send. */
  readonly host?: Host;
}

export type Wrap = 'vxlan' | 'geneve' | 'fou' | 'gue' | 'gre' | 'gre-ethernet' | 'ip';

export interface Packet {
  readonly family: Family;
  readonly from: Place;
  readonly to: Place;
  readonly protocol: number;
  readonly sourcePort: number;
  readonly port: number;
  readonly tcpFlags: number;
  readonly icmp: readonly [type: number, code: number];
  readonly hops: number;
  /** How often the tag stands in the payload. */
  readonly repeats: number;
  /** Of changes.ts; 0 is none. */
  readonly change: number;
  readonly inside?: { readonly by: Wrap | 'error'; readonly packet: Packet };
}

export const MACS = [
  'route',
  'gateway',
  'receiver',
  'broadcast',
  'multicast4',
  'multicast6',
  'bridge',
  'victim',
  'friend',
  'own',
  'nobody',
  'lldp',
  'overlay',
] as const;
export type Mac = (typeof MACS)[number];

export interface Frame {
  readonly by: Exclude<Host, 'n1' | 'n2'>;
  readonly toMac: Mac;
  readonly fromMac: Mac;
  /** In front of the packet's own type. */
  readonly types: readonly number[];
  readonly content:
    | { readonly kind: 'packet'; readonly packet: Packet }
    | {
        readonly kind: 'arp';
        readonly operation: number;
        readonly from: Place;
        readonly to: Place;
        readonly senderMac: Mac;
      }
    | { readonly kind: 'other'; readonly type: number };
}

export type Sequence = readonly Frame[];

const place = (name: string, at: Address, host?: Host): Place => ({
  name,
  address: at,
  bytes: addressBytes(at),
  ...(host !== undefined && { host }),
});

const ofBoth = (name: string, pair: Pair, host?: Host): Record<Family, Place> => ({
  ip: place(name, pair.ip, host),
  ip6: place(name, pair.ip6, host),
});

export const PLACES = Object.fromEntries(
  Object.entries(ADDRESSES).map(([host, pair]) => [host, ofBoth(host, pair, host as Host)]),
) as Readonly<Record<Host, Record<Family, Place>>>;

const OF_NODES = [
  ofBoth('flannel.1 of n2', OVERLAY.n2),
  ofBoth('cni0 of n2', GATEWAYS.n2),
  ofBoth('flannel.1 of n1', OVERLAY.n1),
  ofBoth('cni0 of n1', GATEWAYS.n1),
  ofBoth('second address of n2', SECONDARY),
];
const OF_SERVICES = [
  ...Object.entries(SERVICES).map(([name, { vip }]) => ofBoth(`Service ${name}`, vip)),
  ofBoth('Service without endpoints', NO_ENDPOINTS),
];

const ODD: Readonly<Record<Family, readonly Place[]>> = {
  ip: [
    ...['0.0.0.0', '127.0.0.1', '224.0.0.1', '239.1.2.3', '255.255.255.255', '10.244.1.255', '172.18.0.255'],
    ...['10.244.1.77', '10.244.2.77', '203.0.113.9', '169.254.1.1', '0.0.0.7', '240.0.0.1'],
  ].map(text => place(text, address(text))),
  ip6: [
    ...['::', '::1', 'ff02::1', 'ff02::2', 'ff02::16', 'ff05::1:3', 'ff0e::1', 'ff02::1:ff00:12', 'fe80::1'],
    ...[
      'fd10:244:1::77',
      'fd10:244:2::77',
      '2001:db8::9',
      '64:ff9b::af4:10c',
      '2002:af4:10c::1',
      '::af4:10c',
    ],
    ...(['attacker', 'victim', 'n1'] as const).map(host => linkLocal(hardwareAddress(host))),
    linkLocal(gatewayHardware('attacker', 'bridge')),
    linkLocal(gatewayHardware('attacker', 'ptp')),
  ].map(text => place(text, address(text))),
};

const HOSTS = Object.values(PLACES);

/** `all` is whatever there is, the hosts twice. */
export const ENDS = { ip: endsOf('ip'), ip6: endsOf('ip6') } as const;

function endsOf(
  family: Family,
): Readonly<Record<'hosts' | 'nodes' | 'services' | 'odd' | 'all', readonly Place[]>> {
  const [hosts, nodes, services] = [HOSTS, OF_NODES, OF_SERVICES].map(pairs =>
    pairs.map(each => each[family]),
  );
  const odd = ODD[family];
  return {
    hosts: hosts!,
    nodes: nodes!,
    services: services!,
    odd,
    all: [...hosts!, ...hosts!, ...nodes!, ...services!, ...odd],
  };
}

const GROUPS: Partial<Record<Mac, string>> = {
  broadcast: 'ff:ff:ff:ff:ff:ff',
  multicast4: '01:00:5e:00:00:01',
  multicast6: '33:33:00:00:00:01',
  lldp: '01:80:c2:00:00:0e',
  nobody: '02:00:00:00:0f:0f',
};

/** The hardware address that a name means in a frame; `to` is the receiver by IP. */
export function hardwareOf(mac: Mac, by: Frame['by'], to: Place | undefined, wiring: Wiring): string {
  const fixed = GROUPS[mac];
  if (fixed !== undefined) return fixed;
  switch (mac) {
    case 'own':
      return hardwareAddress(by);
    case 'victim':
    case 'friend':
      return hardwareAddress(mac);
    case 'overlay':
      return overlayHardware('n2', 'ip');
    case 'bridge':
      return bridgeHardware('n1');
    case 'receiver':
      return to?.host !== undefined ? hardwareAddress(to.host) : gateway(by, wiring, to);
    case 'route':
      return isBeside(by, to, wiring) ? hardwareAddress(to!.host!) : gateway(by, wiring, to);
    default:
      return gateway(by, wiring, to);
  }
}

function gateway(by: Frame['by'], wiring: Wiring, to: Place | undefined): string {
  if (by !== 'outside') return gatewayHardware(by, wiring);
  return hardwareAddress(to?.host !== undefined && isPod(to.host) ? nodeOf(to.host) : 'n1');
}

/** On the same bridge. */
function isBeside(by: Frame['by'], to: Place | undefined, wiring: Wiring): boolean {
  if (wiring !== 'bridge' || to?.host === undefined || !isPod(by) || !isPod(to.host)) return false;
  return PODS[by] === PODS[to.host] && by !== to.host;
}

export function isPod(host: Host): host is PodName {
  return host in PODS;
}
