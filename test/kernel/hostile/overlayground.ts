/**
 * Two nodes as Flannel wires them, over both families:
 *
 *     attacker, near ── cni0 ── n1 ═══ flannel.1, flannel-v6.1 ═══ n2 ── cni0 ── far, open
 *
 * `near` and `far` are isolated for ingress but for `friend`, a pod of a third node that is not there; no policy
 * selects the attacker and `open`. Each node has the first address of its pod network on its tunnel, the second on its bridge, and one
 * beside those in its status.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { ipBatch } from '../../../bench/lab/ip.ts';
import { removeNamespaces } from '../../../bench/lab/lab.ts';
import {
  AF_INET,
  AF_INET6,
  bind,
  close,
  SOCK_DGRAM,
  SOCK_RAW,
  send,
  socket,
} from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { socketAddress } from '../../../bench/lab/probe/sockaddr.ts';
import { address } from '../../../bench/lab/topology.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import { type Address, type Family, familyOf } from '../../../src/model/address.ts';
import { type Cluster, ClusterState } from '../../../src/model/cluster.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { withOwnLinks } from '../../support/packets/ownlinks.ts';
import { until } from '../../support/until.ts';
import { transportOf } from './craft.ts';
import { Ear } from './ear.ts';
import { macBytes } from './frame.ts';
import { seeBridgedPackets } from './ground.ts';

export type OverlayHost = 'n1' | 'n2' | PodName;
export type PodName = 'attacker' | 'near' | 'far' | 'open';
const PODS: Readonly<Record<PodName, { node: 'n1' | 'n2'; addresses: Record<Family, Address> }>> = {
  attacker: { node: 'n1', addresses: pair('10.244.1.11', 'fd10:244:1::11') },
  near: { node: 'n1', addresses: pair('10.244.1.12', 'fd10:244:1::12') },
  far: { node: 'n2', addresses: pair('10.244.2.12', 'fd10:244:2::12') },
  open: { node: 'n2', addresses: pair('10.244.2.13', 'fd10:244:2::13') },
};
const NAMES = Object.keys(PODS) as PodName[];
/** Whom `near` and `far` hear. */
const FRIEND = pair('10.244.3.77', 'fd10:244:3::77');
const SIZE = { ip: { network: 24, host: 32 }, ip6: { network: 64, host: 128 } } as const;
const BRIDGE_MAC = '0a:00:00:00:10:0';

/** Whom a packet is for: `status` is what the API says, `other` what no object does. */
export type End = 'status' | 'flannel' | 'cni0' | 'other';
export const ENDS: readonly End[] = ['status', 'flannel', 'cni0', 'other'];

export function endOf(node: 1 | 2 | 3, end: End): Record<Family, Address> {
  switch (end) {
    case 'status':
      return pair(`172.18.0.1${node}`, `fd18::1${node}`);
    case 'flannel':
      return pair(`10.244.${node}.0`, `fd10:244:${node}::`);
    case 'cni0':
      return pair(`10.244.${node}.1`, `fd10:244:${node}::1`);
    case 'other':
      return pair(`192.168.7.1${node}`, `fd19::1${node}`);
  }
}

function pair(ip: string, ip6: string): Record<Family, Address> {
  return { ip: address(ip), ip6: address(ip6) };
}

let built = 0;

export class OverlayGround {
  readonly #prefix = `sluice-lab-${process.pid}-overlay${built++}`;

  static async build(): Promise<OverlayGround> {
    const ground = new OverlayGround();
    seeBridgedPackets();
    try {
      await ground.#wire();
      return ground;
    } catch (error) {
      ground.remove();
      throw error;
    }
  }

  path(host: OverlayHost): string {
    return `/run/netns/${this.#prefix}.${host}`;
  }

  exec(host: OverlayHost, command: string, ...args: readonly string[]): string {
    return inNamespace(this.path(host), () => execFileSync(command, args, { encoding: 'utf8' }));
  }

  nft(host: OverlayHost, text: string): void {
    inNamespace(this.path(host), () => execFileSync('nft', ['-f', '-'], { input: text }));
  }

  /** Puts the rules of these nodes in force, as their agents would. */
  async enforce(nodes: readonly ('n1' | 'n2')[], podTunnels?: 'allow'): Promise<Map<string, Cluster>> {
    const cluster = new ClusterState();
    for (const object of CLUSTER) cluster.apply(decodeObject(object).event!);
    const seen = new Map<string, Cluster>();
    for (const node of ['n1', 'n2'] as const) {
      const kernel = await inNamespace(this.path(node), () => openNftKernel());
      try {
        const as = await withOwnLinks(cluster, node, this.path(node), podTunnels);
        seen.set(node, as);
        const rules = nodes.includes(node) ? compile(as, node) : { tables: new Map() };
        const { ruleset, generation } = await kernel.dump();
        await kernel.commit(plan(ruleset, rules), generation);
      } finally {
        kernel.close();
      }
    }
    return seen;
  }

  /**
   * Has the attacker send by an ordinary socket, or one of a protocol. Answers which pods have heard the `inner` datagram
   * of port 53. What the other node sends behind it, through the overlay as it is meant, says that all of it has arrived.
   */
  async hears(pod: PodName, inner: Uint8Array, act: () => void): Promise<boolean> {
    const family: Family = inner[0]! >> 4 === 4 ? 'ip' : 'ip6';
    const to = PODS[pod].addresses[family];
    const heard: Buffer[] = [];
    const isHeard = (bytes: Uint8Array) => heard.some(each => each.equals(bytes));
    const ear = new Ear(this.path(pod), family, 17);
    const round = async (sourcePort: number) => {
      const control = packet({ from: FRIEND[family], to, protocol: 'UDP', port: 4000, sourcePort });
      await until(`${pod} hears the other node`, () => {
        act();
        this.#fromOtherNode(pod, control);
        heard.push(...ear.heard().map(({ payload }) => payload));
        return isHeard(transportOf(control));
      });
    };
    try {
      await round(4001);
      // By now every hardware address on the way is known, so that nothing waits for one.
      await round(4002);
      return isHeard(transportOf(inner));
    } finally {
      ear.close();
    }
  }

  /** Through the overlay. */
  #fromOtherNode(pod: PodName, bytes: Uint8Array): void {
    const { node, addresses } = PODS[pod];
    const family: Family = bytes[0]! >> 4 === 4 ? 'ip' : 'ip6';
    inNamespace(this.path(node === 'n1' ? 'n2' : 'n1'), () => {
      // IPPROTO_RAW: with the header that it has.
      const fd = socket(family === 'ip' ? AF_INET : AF_INET6, SOCK_RAW, 255);
      send(fd, bytes, socketAddress(addresses[family], 0));
      close(fd);
    });
  }

  /** As a user without any capability: what a pod of the strictest of the pod security standards may do. */
  sendUdp(to: Address, port: number, bytes: Uint8Array): void {
    inNamespace(this.path('attacker'), () => {
      process.seteuid!(65534);
      try {
        const fd = socket(familyOf(to) === 'ip' ? AF_INET : AF_INET6, SOCK_DGRAM);
        send(fd, bytes, socketAddress(to, port));
        close(fd);
      } finally {
        process.seteuid!(0); // Leaving the namespace takes a capability again.
      }
    });
  }

  /** By a socket of the other node, from the port by which a tunnel sends what belongs to one connection. */
  sendFromOtherNode(sourcePort: number, to: Address, port: number, bytes: Uint8Array): void {
    inNamespace(this.path('n2'), () => {
      const isV4 = familyOf(to) === 'ip';
      const fd = socket(isV4 ? AF_INET : AF_INET6, SOCK_DGRAM);
      bind(fd, socketAddress(address(isV4 ? '0.0.0.0' : '::'), sourcePort));
      send(fd, bytes, socketAddress(to, port));
      close(fd);
    });
  }

  /** With NET_RAW. */
  sendProtocol(to: Address, protocol: number, bytes: Uint8Array): void {
    inNamespace(this.path('attacker'), () => {
      const fd = socket(familyOf(to) === 'ip' ? AF_INET : AF_INET6, SOCK_RAW, protocol);
      send(fd, bytes, socketAddress(to, 0));
      close(fd);
    });
  }

  remove(): void {
    removeNamespaces(this.#prefix);
  }

  async #wire(): Promise<void> {
    const name = (host: string) => `${this.#prefix}.${host}`;
    const hosts = ['n1', 'n2', ...NAMES] as const;
    await ipBatch(hosts.map(host => `netns add ${name(host)}`));
    for (const host of hosts) this.#settings(host);
    await ipBatch([
      `link add eth0 netns ${name('n1')} type veth peer name eth0 netns ${name('n2')}`,
      ...NAMES.map(
        pod => `link add eth0 netns ${name(pod)} type veth peer name to-${pod} netns ${name(PODS[pod].node)}`,
      ),
    ]);
    for (const node of [1, 2] as const) await ipBatch(nodeLines(node), name(`n${node}`));
    for (const node of [1, 2] as const)
      for (const line of forwardingLines(node)) this.exec(`n${node}`, 'bridge', ...line);
    for (const pod of NAMES) await ipBatch(podLines(pod), name(pod));
  }

  #settings(host: OverlayHost): void {
    const router = host === 'n1' || host === 'n2' ? '1' : '0';
    inNamespace(this.path(host), () => {
      for (const [key, value] of [
        ['ipv4/conf/all/rp_filter', '0'],
        ['ipv4/conf/default/rp_filter', '0'],
        ['ipv4/ip_forward', router],
        ['ipv6/conf/all/forwarding', router],
        ['ipv6/conf/default/accept_dad', '0'],
        ['ipv6/conf/all/accept_dad', '0'],
      ] as const)
        writeFileSync(`/proc/sys/net/${key}`, value);
    });
  }
}

const DEVICE = { ip: 'flannel.1', ip6: 'flannel-v6.1' } as const;

/** The hardware address of a node's tunnel: in the annotations of its Node, and no secret. */
export function tunnelMac(node: 1 | 2, family: Family): string {
  return `0a:00:00:00:0${family === 'ip' ? 4 : 6}:0${node}`;
}

function nodeLines(node: 1 | 2): string[] {
  const other = node === 1 ? 2 : 1;
  const pods = NAMES.filter(pod => PODS[pod].node === `n${node}`);
  return [
    'link set lo up',
    'link set eth0 up',
    'link add cni0 type bridge',
    `link set cni0 address ${BRIDGE_MAC}${node}`,
    ...pods.flatMap(pod => [
      `link set to-${pod} master cni0`,
      `link set to-${pod} type bridge_slave hairpin on`,
      `link set to-${pod} up`,
    ]),
    'link set cni0 up',
    ...(['ip', 'ip6'] as const).flatMap(family => {
      const { network, host } = SIZE[family];
      const device = DEVICE[family];
      const at = (which: 1 | 2, end: End) => endOf(which, end)[family];
      const nodad = family === 'ip6' ? ' nodad' : '';
      return [
        `address add ${at(node, 'status')}/${network} dev eth0${nodad}`,
        `address add ${at(node, 'other')}/${network} dev eth0${nodad}`,
        `address add ${at(node, 'cni0')}/${network} dev cni0${nodad}`,
        `link add ${device} address ${tunnelMac(node, family)} type vxlan id 1 local ${at(node, 'status')} dev eth0 dstport 8472 nolearning`,
        `link set ${device} up`,
        `address add ${at(node, 'flannel')}/${host} dev ${device}${nodad}`,
        `neighbour add ${at(other, 'flannel')} lladdr ${tunnelMac(other, family)} dev ${device} nud permanent`,
        `route add ${at(other, 'flannel')}/${network} via ${at(other, 'flannel')} dev ${device} onlink`,
      ];
    }),
  ];
}

/** What Flannel tells the bridge of a tunnel. */
function forwardingLines(node: 1 | 2): string[][] {
  const other = node === 1 ? 2 : 1;
  return (['ip', 'ip6'] as const).map(family => [
    'fdb',
    'add',
    tunnelMac(other, family),
    'dev',
    DEVICE[family],
    'dst',
    endOf(other, 'status')[family],
  ]);
}

function podLines(pod: PodName): string[] {
  const { node, addresses } = PODS[pod];
  const own = node === 'n1' ? 1 : 2;
  const gateway = endOf(own, 'cni0');
  return [
    'link set lo up',
    'link set eth0 up',
    ...(['ip', 'ip6'] as const).flatMap(family => [
      `address add ${addresses[family]}/${SIZE[family].network} dev eth0${family === 'ip6' ? ' nodad' : ''}`,
      `route add default via ${gateway[family]}`,
    ]),
    // The anycast address of its network: the node takes up to a second to say that it has it.
    `neighbour add ${endOf(own, 'flannel').ip6} lladdr ${BRIDGE_MAC}${own} dev eth0 nud permanent`,
  ];
}

/** A datagram of the friend's to an isolated pod. */
export function innerDatagram(pod: PodName, family: Family): Uint8Array {
  return packet({ from: FRIEND[family], to: PODS[pod].addresses[family], protocol: 'UDP', port: 53 });
}

export function frameOf(inner: Uint8Array, mac: string): Uint8Array {
  const type = inner[0]! >> 4 === 4 ? [0x08, 0x00] : [0x86, 0xdd];
  return Buffer.concat([Buffer.from([...macBytes(mac), ...macBytes('0a:00:00:00:00:99'), ...type]), inner]);
}

export function vxlan(frame: Uint8Array, id = 1): Uint8Array {
  return Buffer.concat([Buffer.from([8, 0, 0, 0, 0, 0, id, 0]), frame]);
}

const isolated = (name: PodName) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace: 'shop' },
  spec: {
    podSelector: { matchLabels: { app: name } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'friend' } } }] }],
  },
});

const podObject = (name: string, node: string, addresses: Record<Family, Address>) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', labels: { app: name } },
  spec: { nodeName: node, containers: [{ name: 'c' }] },
  status: { phase: 'Running', podIPs: Object.values(addresses).map(ip => ({ ip })) },
});

const CLUSTER = [
  ...([1, 2, 3] as const).map(node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `n${node}` },
    spec: { podCIDRs: [`10.244.${node}.0/24`, `fd10:244:${node}::/64`] },
    status: {
      addresses: Object.values(endOf(node, 'status')).map(at => ({ type: 'InternalIP', address: at })),
    },
  })),
  ...NAMES.map(name => podObject(name, PODS[name].node, PODS[name].addresses)),
  podObject('friend', 'n3', FRIEND),
  isolated('near'),
  isolated('far'),
];
