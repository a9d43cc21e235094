/**
 * Who there is, at which addresses: a node with pods and another one, wired as Flannel wires them, and a host outside.
 *
 *     attacker, victim, friend, loose ── n1 ──┐               ┌── n2 ── remote, sealed
 *                                             ├── a switch ───┤
 *                                             └── outside     └ flannel.1 and flannel-v6.1 from node to node
 *
 * attacker may send nothing and be sent nothing; victim and sealed are sent to by friend alone; no policy selects
 * the others. All hardware addresses are given, so that a sequence of frames means the same in every run.
 */
import { type Address, type Family, parseAddress } from '../../../src/model/address.ts';

export const PODS = { attacker: 1, victim: 1, friend: 1, loose: 1, remote: 2, sealed: 2 } as const;
export type PodName = keyof typeof PODS;
export type NodeName = 'n1' | 'n2';
export type Host = PodName | NodeName | 'outside';
/** The node's interfaces to its pods are the ports of a bridge, or each is a routed veth. */
export type Wiring = 'bridge' | 'ptp';
export const WIRINGS: readonly Wiring[] = ['bridge', 'ptp'];
export const POD_NAMES = Object.keys(PODS) as PodName[];

export type Pair = Readonly<Record<Family, Address>>;

export function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new TypeError(`${text} is no address`);
  return parsed;
}

const pair = (ip: string, ip6: string): Pair => ({ ip: address(ip), ip6: address(ip6) });
const podAddress = (node: 1 | 2, number: number) =>
  pair(`10.244.${node}.${number}`, `fd10:244:${node}::${number}`);

export const ADDRESSES: Readonly<Record<Host, Pair>> = {
  attacker: podAddress(1, 11),
  victim: podAddress(1, 12),
  friend: podAddress(1, 13),
  loose: podAddress(1, 14),
  remote: podAddress(2, 21),
  sealed: podAddress(2, 22),
  n1: pair('172.18.0.11', 'fd18::11'),
  n2: pair('172.18.0.12', 'fd18::12'),
  outside: pair('172.18.0.1', 'fd18::1'),
};
/** Of cni0, or of each of the node's interfaces to a pod. */
export const GATEWAYS: Readonly<Record<NodeName, Pair>> = {
  n1: pair('10.244.1.1', 'fd10:244:1::1'),
  n2: pair('10.244.2.1', 'fd10:244:2::1'),
};
/** Of flannel.1 and flannel-v6.1. */
export const OVERLAY: Readonly<Record<NodeName, Pair>> = {
  n1: pair('10.244.1.0', 'fd10:244:1::'),
  n2: pair('10.244.2.0', 'fd10:244:2::'),
};
/** Of the other node, and in no status. */
export const SECONDARY = pair('172.18.0.112', 'fd18::112');

export function nodeOf(pod: PodName): NodeName {
  return PODS[pod] === 1 ? 'n1' : 'n2';
}

const NUMBER: Readonly<Record<Host, number>> = {
  attacker: 11,
  victim: 12,
  friend: 13,
  loose: 14,
  remote: 21,
  sealed: 22,
  n1: 1,
  n2: 2,
  outside: 3,
};

/** Of a host's eth0. */
export function hardwareAddress(host: Host): string {
  return `02:00:00:00:01:${hex(NUMBER[host])}`;
}

/** The node's end of a pod's link: of its bridge, or of the pod's own. */
export function gatewayHardware(pod: PodName, wiring: Wiring): string {
  return wiring === 'bridge' ? `02:00:00:00:02:0${PODS[pod]}` : `02:00:00:00:03:${hex(NUMBER[pod])}`;
}

export function bridgeHardware(node: NodeName): string {
  return `02:00:00:00:02:0${NUMBER[node]}`;
}

export function overlayHardware(node: NodeName, family: Family): string {
  return `0a:00:00:00:0${family === 'ip' ? 4 : 6}:0${NUMBER[node]}`;
}

/** As the kernel makes it of a hardware address (RFC 4291, appendix A). */
export function linkLocal(hardware: string): Address {
  const [a, b, c, d, e, f] = hardware.split(':').map(part => Number.parseInt(part, 16)) as number[];
  const words = [((a! ^ 2) << 8) | b!, (c! << 8) | 0xff, 0xfe00 | d!, (e! << 8) | f!];
  return address(`fe80::${words.map(word => word.toString(16)).join(':')}`);
}

/** Services: where they lead by UDP port 53 and TCP port 80, which their endpoints' author chose. */
export const SERVICES = {
  ofFriend: { vip: pair('10.96.0.10', 'fd96::10'), to: ADDRESSES.friend, port: undefined },
  ofVictim: { vip: pair('10.96.0.11', 'fd96::11'), to: ADDRESSES.victim, port: undefined },
  ofOverlay: { vip: pair('10.96.0.12', 'fd96::12'), to: OVERLAY.n2, port: 8472 },
  ofNode: { vip: pair('10.96.0.13', 'fd96::13'), to: ADDRESSES.n2, port: 8472 },
  ofOwnNode: { vip: pair('10.96.0.14', 'fd96::14'), to: OVERLAY.n1, port: 8472 },
} as const;
/** Of a Service without endpoints: whatever goes there is rejected. */
export const NO_ENDPOINTS = pair('10.96.0.81', 'fd96::81');

function hex(number: number): string {
  return number.toString(16).padStart(2, '0');
}
