/**
 * One node with pods that mean harm, and pods that they mean it to, on the networks that plugins make:
 *
 *     bridge   attacker, victim, friend, loose ── cni0 ── node ── outside      (bridge, Flannel)
 *     ptp      each ── a veth of the node's with the gateway's address ── node ── outside   (ptp, kindnet, Calico)
 *
 * attacker may send nothing, victim is sent to by friend alone, no policy selects loose. Pods have the addresses of
 * the families that are asked for, and in any case the link-local ones that the kernel gives.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { ipBatch } from '../../../bench/lab/ip.ts';
import { removeNamespaces } from '../../../bench/lab/lab.ts';
import {
  AF_INET,
  close,
  type Fd,
  hardwareAddress,
  interfaceIndex,
  SOCK_DGRAM,
  socket,
} from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { address } from '../../../bench/lab/topology.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { type DenialLimits, withDenialLimits } from '../../../src/compiler/denied.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import {
  type Address,
  addressFromBytes,
  FAMILIES,
  type Family,
  familyOf,
} from '../../../src/model/address.ts';
import { type Cluster, ClusterState } from '../../../src/model/cluster.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import { LINK_GROUP, type PodLinks } from '../../../src/model/podlinks.ts';
import type { Kernel } from '../../../src/nft/kernel.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import { withOwnLinks } from '../../support/packets/ownlinks.ts';

export type Network = 'bridge' | 'ptp';
export const NETWORKS: readonly Network[] = ['bridge', 'ptp'];
export type Host = 'attacker' | 'victim' | 'friend' | 'loose' | 'node' | 'outside';

const PODS = ['attacker', 'victim', 'friend', 'loose'] as const;
type PodName = (typeof PODS)[number];

export const ADDRESSES: Record<Host, Record<Family, Address>> = {
  attacker: pair('10.9.0.11', 'fd09::11'),
  victim: pair('10.9.0.12', 'fd09::12'),
  friend: pair('10.9.0.13', 'fd09::13'),
  loose: pair('10.9.0.14', 'fd09::14'),
  node: pair('172.18.9.2', 'fd18::2'),
  outside: pair('172.18.9.1', 'fd18::1'),
};
export const GATEWAY = pair('10.9.0.1', 'fd09::1');
export const OTHER_NODE = pair('172.18.9.3', 'fd18::3');

function pair(ip: string, ip6: string): Record<Family, Address> {
  return { ip: address(ip), ip6: address(ip6) };
}

export interface GroundOptions {
  readonly network: Network;
  /** Of pods and nodes. Default: both. */
  readonly families?: readonly Family[];
  /** Who links the pods with the node. Default: others. */
  readonly podLinks?: PodLinks;
  /** Default: allow. */
  readonly unknownPods?: UnknownPods;
  /** Of denied packets that are handed over. Default: none is. */
  readonly denials?: DenialLimits;
}

let built = 0;

export class Ground {
  readonly network: Network;
  readonly families: readonly Family[];
  readonly #prefix = `sluice-lab-${process.pid}-hostile${built++}`;
  readonly #denials: DenialLimits | undefined;
  readonly #podLinks: PodLinks;
  readonly #unknownPods: UnknownPods;
  #kernel: Kernel | undefined;

  constructor({
    network,
    families = FAMILIES,
    denials,
    podLinks = 'others',
    unknownPods = 'allow',
  }: GroundOptions) {
    this.network = network;
    this.families = families;
    this.#denials = denials;
    this.#podLinks = podLinks;
    this.#unknownPods = unknownPods;
  }

  static build(options: GroundOptions): Promise<Ground> {
    return new Ground(options).build();
  }

  async build(): Promise<this> {
    if (this.network === 'bridge') seeBridgedPackets();
    try {
      await this.#wire();
      this.#kernel = await inNamespace(this.path('node'), () => openNftKernel());
      return this;
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  path(host: Host): string {
    return `/run/netns/${this.nameOf(host)}`;
  }

  nameOf(host: Host): string {
    return `${this.#prefix}.${host}`;
  }

  exec(host: Host, command: string, args: readonly string[], input = ''): string {
    return inNamespace(this.path(host), () => execFileSync(command, args, { encoding: 'utf8', input }));
  }

  /** The address that the kernel gave a host's interface. */
  linkLocal(host: Host, device = 'eth0'): Address {
    const table = inNamespace(this.path(host), () => readFileSync('/proc/thread-self/net/if_inet6', 'utf8'));
    const line = table.split('\n').find(each => each.startsWith('fe80') && each.endsWith(` ${device}`));
    return addressFromBytes(Buffer.from(line!.slice(0, 32), 'hex'));
  }

  index(host: Host, device = 'eth0'): number {
    return this.#asked(host, fd => interfaceIndex(fd, device));
  }

  /** Gives an interface these addresses, each with its subnet. */
  addAddresses(host: Host, device: string, addresses: Readonly<Record<Family, Address>>): void {
    for (const family of FAMILIES) {
      const line = `address add ${addresses[family]}/${SIZE[family].subnet} dev ${device}${nodad(family)}`;
      this.exec(host, 'ip', line.split(' '));
    }
  }

  mac(host: Host, device = 'eth0'): string {
    return this.#asked(host, fd => hardwareAddress(fd, device));
  }

  /** By a call: tests ask this for each frame that they send, and a process of `ip` each time would be most of their work. */
  #asked<T>(host: Host, ask: (fd: Fd) => T): T {
    const fd = inNamespace(this.path(host), () => socket(AF_INET, SOCK_DGRAM));
    try {
      return ask(fd);
    } finally {
      close(fd);
    }
  }

  /** The node's interface to a pod: the bridge, or the pod's own. */
  port(pod: PodName): string {
    return this.network === 'bridge' ? 'cni0' : `to-${pod}`;
  }

  /** Puts the policies in force, and more objects beside them; answers what the node's agent would know. */
  async enforce(...more: readonly object[]): Promise<Cluster> {
    const cluster = new ClusterState();
    for (const object of [...clusterOf(this.families), ...more]) cluster.apply(decodeObject(object).event!);
    const seen = await withOwnLinks(cluster, 'n1', this.path('node'));
    const { ruleset, generation } = await this.#kernel!.dump();
    const rules = withDenialLimits(compile(seen, 'n1', this.#unknownPods, this.#podLinks), this.#denials);
    await this.#kernel!.commit(plan(ruleset, rules), generation);
    return seen;
  }

  /** The tables stay, and whoever likes changes them. */
  async endAgent(): Promise<void> {
    this.#kernel?.close();
    this.#kernel = undefined;
  }

  /** As on a kernel that has no tables of bridges. */
  async withoutBridgeTable(): Promise<void> {
    await this.#kernel!.commit([{ op: 'delTable', family: 'bridge' }]);
  }

  remove(): void {
    this.#kernel?.close();
    removeNamespaces(this.#prefix);
  }

  async #wire(): Promise<void> {
    const { families } = this;
    const name = (host: Host) => `${this.#prefix}.${host}`;
    const hosts = [...PODS, 'node', 'outside'] as const;
    await ipBatch(hosts.map(host => `netns add ${name(host)}`));
    for (const host of hosts) this.#settings(host);
    await ipBatch([
      `link add eth0 netns ${name('node')} type veth peer name wire netns ${name('outside')}`,
      ...PODS.map(
        pod => `link add eth0 netns ${name(pod)} type veth peer name to-${pod} netns ${name('node')}`,
      ),
    ]);
    await ipBatch(
      OUTSIDE.filter(line => isOf(families, line)),
      name('outside'),
    );
    await ipBatch(
      [
        ...NODE.filter(line => isOf(families, line)),
        ...(this.network === 'bridge' ? bridge(families) : ports(families)),
      ],
      name('node'),
    );
    for (const pod of PODS) await ipBatch(podLink(pod, this.network, families), name(pod));
    if (this.#podLinks === 'ours')
      await ipBatch(
        PODS.map(pod => `link set to-${pod} group ${LINK_GROUP}`),
        name('node'),
      );
  }

  // As most distributions have it: no reverse path filter of the kernel's that would do our work.
  #settings(host: Host): void {
    const router = host === 'node' || host === 'outside' ? '1' : '0';
    const settings: [string, string][] = [
      ['ipv4/conf/all/rp_filter', '0'],
      ['ipv4/conf/default/rp_filter', '0'],
      ['ipv4/ip_forward', router],
      ['ipv6/conf/all/forwarding', router],
      ['ipv6/conf/default/accept_dad', '0'],
      ['ipv6/conf/all/accept_dad', '0'],
    ];
    inNamespace(this.path(host), () => {
      for (const [key, value] of settings) writeFileSync(`/proc/sys/net/${key}`, value);
    });
  }
}

/** As nodes whose pods share a bridge have it (docs/install.md): where it is a module, nobody loads it with the bridge. */
export function seeBridgedPackets(): void {
  if (!existsSync('/proc/sys/net/bridge')) execFileSync('modprobe', ['br_netfilter']);
}

const OUTSIDE = [
  'link set lo up',
  'link set wire up',
  'address add 172.18.9.1/24 dev wire',
  'address add fd18::1/64 dev wire nodad',
  'route add 10.9.0.0/24 via 172.18.9.2',
  'route add fd09::/64 via fd18::2',
];

const NODE = [
  'link set lo up',
  'link set eth0 up',
  'address add 172.18.9.2/24 dev eth0',
  'address add fd18::2/64 dev eth0 nodad',
  'route add default via 172.18.9.1',
  'route add default via fd18::1',
];

/** Whether a line has an address of these families, or none. */
function isOf(families: readonly Family[], line: string): boolean {
  const text = / (?:add|via) ([0-9a-f]+[.:][0-9a-f.:]+)/.exec(line)?.[1];
  return text === undefined || families.includes(familyOf(address(text)));
}

const SIZE = { ip: { subnet: 24, host: 32 }, ip6: { subnet: 64, host: 128 } } as const;

function bridge(families: readonly Family[]): string[] {
  return [
    'link add cni0 type bridge',
    ...PODS.flatMap(pod => [
      `link set to-${pod} master cni0`,
      `link set to-${pod} type bridge_slave hairpin on`,
    ]),
    ...PODS.map(pod => `link set to-${pod} up`),
    'link set cni0 up',
    ...families.map(
      family => `address add ${GATEWAY[family]}/${SIZE[family].subnet} dev cni0${nodad(family)}`,
    ),
  ];
}

function ports(families: readonly Family[]): string[] {
  return PODS.flatMap(pod => [
    `link set to-${pod} up`,
    ...families.flatMap(family => [
      `address add ${GATEWAY[family]}/${SIZE[family].host} dev to-${pod}${nodad(family)}`,
      `route add ${ADDRESSES[pod][family]}/${SIZE[family].host} dev to-${pod}`,
    ]),
  ]);
}

function podLink(pod: PodName, network: Network, families: readonly Family[]): string[] {
  const prefix = (family: Family) => SIZE[family][network === 'bridge' ? 'subnet' : 'host'];
  return [
    'link set lo up',
    'link set eth0 up',
    ...families.flatMap(family => [
      `address add ${ADDRESSES[pod][family]}/${prefix(family)} dev eth0${nodad(family)}`,
      ...(network === 'ptp' ? [`route add ${GATEWAY[family]} dev eth0`] : []),
      `route add default via ${GATEWAY[family]}`,
    ]),
  ];
}

function nodad(family: Family): string {
  return family === 'ip6' ? ' nodad' : '';
}

const node = (name: string, addresses: Record<Family, Address>, podCidrs: string[]) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: { podCIDRs: podCidrs },
  status: { addresses: Object.values(addresses).map(value => ({ type: 'InternalIP', address: value })) },
});

const policy = (name: PodName, spec: object) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace: 'shop' },
  spec: { podSelector: { matchLabels: { app: name } }, ...spec },
});

/** The same objects, where pods and nodes have addresses of these families alone. */
function clusterOf(families: readonly Family[]): object[] {
  const isLeft = (each: unknown) => families.includes(JSON.stringify(each).includes('::') ? 'ip6' : 'ip');
  const left = (key: string, value: unknown) =>
    LISTS.has(key) ? (value as unknown[]).filter(isLeft) : value;
  return JSON.parse(JSON.stringify(CLUSTER, left)) as object[];
}

const LISTS = new Set(['podCIDRs', 'addresses', 'podIPs']);

/** The objects of the API. */
export const CLUSTER = [
  node('n1', ADDRESSES.node, ['10.9.0.0/24', 'fd09::/64']),
  node('n2', OTHER_NODE, ['10.9.1.0/24', 'fd09:1::/64']),
  ...PODS.map(name => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec: { nodeName: 'n1', containers: [{ name: 'c' }] },
    status: { phase: 'Running', podIPs: Object.values(ADDRESSES[name]).map(ip => ({ ip })) },
  })),
  policy('attacker', { policyTypes: ['Egress'], egress: [] }),
  policy('victim', {
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'friend' } } }] }],
  }),
];
