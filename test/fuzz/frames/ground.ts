/** The network of network.ts in network namespaces, with Sluice's rules on both nodes. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { undoAtExit } from '../../../bench/lab/cleanup.ts';
import { ipBatch, ipBatchForced } from '../../../bench/lab/ip.ts';
import { removeNamespaces } from '../../../bench/lab/lab.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import { FAMILIES, type Family } from '../../../src/model/address.ts';
import { type Cluster, ClusterState } from '../../../src/model/cluster.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { withOwnLinks } from '../../support/packets/ownlinks.ts';
import {
  ADDRESSES,
  bridgeHardware,
  GATEWAYS,
  gatewayHardware,
  type Host,
  hardwareAddress,
  type NodeName,
  nodeOf,
  OVERLAY,
  overlayHardware,
  POD_NAMES,
  PODS,
  type PodName,
  SECONDARY,
  type Wiring,
} from './network.ts';
import { kubeProxy, OBJECTS } from './objects.ts';

const HOSTS = [...POD_NAMES, 'n1', 'n2', 'outside'] as const satisfies readonly Host[];
const NODES = ['n1', 'n2'] as const;
const SIZE = { ip: { subnet: 24, host: 32 }, ip6: { subnet: 64, host: 128 } } as const;
const SETTINGS: readonly (readonly [string, string])[] = [
  // A bridge's reports of its own groups (224.0.0.106) would be tracked, as what the node itself sends.
  ['ipv4/igmp_link_local_mcast_reports', '0'],
  ['ipv4/conf/all/rp_filter', '0'],
  ['ipv4/conf/default/rp_filter', '0'],
  ['ipv6/conf/default/accept_dad', '0'],
  ['ipv6/conf/all/accept_dad', '0'],
  // Errors that are not sent because there were many before would be ways that are not found.
  ['ipv4/icmp_ratemask', '0'],
  ['ipv6/icmp/ratemask', '255'],
  ['ipv6/icmp/ratelimit', '0'],
  // What waits for its other pieces has little room, and is in the way of the next.
  ['ipv4/ipfrag_time', '1'],
  ['ipv6/ip6frag_time', '1'],
];
/** Where there is conntrack, which comes with the first rule that asks it. */
const NODE_SETTINGS: readonly (readonly [string, string])[] = [['netfilter/nf_conntrack_frag6_timeout', '1']];

export interface GroundOptions {
  readonly wiring: Wiring;
  readonly unknownPods?: UnknownPods;
}

let built = 0;

export class FrameGround {
  readonly wiring: Wiring;
  readonly #prefix = `sluice-lab-${process.pid}-frames${built++}`;
  readonly unknownPods: UnknownPods;
  readonly #forget = undoAtExit(() => removeNamespaces(this.#prefix));
  #rules: Ruleset = { tables: new Map() };
  #cluster: Cluster = new ClusterState();

  private constructor({ wiring, unknownPods = 'allow' }: GroundOptions) {
    this.wiring = wiring;
    this.unknownPods = unknownPods;
  }

  static async build(options: GroundOptions): Promise<FrameGround> {
    const ground = new FrameGround(options);
    try {
      await ground.#wire();
      for (const node of NODES) await ground.#enforce(node);
      return ground;
    } catch (error) {
      ground.remove();
      throw error;
    }
  }

  path(host: Host): string {
    return `/run/netns/${this.#name(host)}`;
  }

  /** Node n1's rules. */
  get rules(): Ruleset {
    return this.#rules;
  }

  /** As node n1's agent knows it. */
  get cluster(): Cluster {
    return this.#cluster;
  }

  exec(host: Host, command: string, args: readonly string[], input = ''): string {
    return inNamespace(this.path(host), () => execFileSync(command, args, { encoding: 'utf8', input }));
  }

  remove(): void {
    removeNamespaces(this.#prefix);
    this.#forget();
  }

  #name(host: Host | 'switch'): string {
    return `${this.#prefix}.${host}`;
  }

  async #enforce(node: NodeName): Promise<void> {
    this.exec(node, 'nft', ['-f', '-'], kubeProxy());
    const cluster = new ClusterState();
    for (const object of OBJECTS) cluster.apply(decodeObject(object).event!);
    const seen = await withOwnLinks(cluster, node, this.path(node));
    const kernel = await inNamespace(this.path(node), () => openNftKernel());
    const { ruleset, generation } = await kernel.dump();
    const rules = compile(seen, node, this.unknownPods);
    await kernel.commit(plan(ruleset, rules), generation);
    kernel.close();
    this.#set(node, NODE_SETTINGS);
    if (node === 'n1') [this.#rules, this.#cluster] = [rules, seen];
  }

  async #wire(): Promise<void> {
    // As nodes whose pods share a bridge have it (docs/install.md): where it is a module, nobody loads it with the bridge.
    if (this.wiring === 'bridge' && !existsSync('/proc/sys/net/bridge'))
      execFileSync('modprobe', ['br_netfilter']);
    await ipBatch([...HOSTS, 'switch' as const].map(host => `netns add ${this.#name(host)}`));
    for (const host of HOSTS) {
      const forwards = host in PODS ? '0' : '1';
      this.#set(host, [...SETTINGS, ['ipv4/ip_forward', forwards], ['ipv6/conf/all/forwarding', forwards]]);
    }
    await ipBatch([
      ...(['n1', 'n2', 'outside'] as const).map(
        host =>
          `link add eth0 address ${hardwareAddress(host)} netns ${this.#name(host)} type veth peer name ${host} netns ${this.#name('switch')}`,
      ),
      ...POD_NAMES.map(
        pod =>
          `link add eth0 address ${hardwareAddress(pod)} netns ${this.#name(pod)} type veth peer name to-${pod} address ${gatewayHardware(pod, 'ptp')} netns ${this.#name(nodeOf(pod))}`,
      ),
    ]);
    await ipBatch(SWITCH, this.#name('switch'));
    await ipBatch(outside(), this.#name('outside'));
    for (const node of NODES) {
      await ipBatch([...nodeLinks(node), ...this.#podLinks(node)], this.#name(node));
      for (const family of FAMILIES) this.exec(node, 'bridge', forwarding(node, family));
      ipBatchForced(OTHER_TUNNELS.map(line => `-n ${this.#name(node)} ${line}`));
    }
    for (const pod of POD_NAMES) await ipBatch(podEnd(pod, this.wiring), this.#name(pod));
  }

  #podLinks(node: NodeName): string[] {
    const pods = POD_NAMES.filter(pod => nodeOf(pod) === node);
    const known = (pod: PodName, device: string) =>
      FAMILIES.map(family => neighbour(ADDRESSES[pod][family], hardwareAddress(pod), device));
    if (this.wiring === 'ptp')
      return pods.flatMap(pod => [
        `link set to-${pod} up`,
        ...FAMILIES.flatMap(family => [
          `address add ${GATEWAYS[node][family]}/${SIZE[family].host} dev to-${pod}${nodad(family)}`,
          `route add ${ADDRESSES[pod][family]}/${SIZE[family].host} dev to-${pod}`,
        ]),
        ...known(pod, `to-${pod}`),
      ]);
    return [
      `link add cni0 address ${bridgeHardware(node)} type bridge`,
      ...pods.flatMap(pod => [
        `link set to-${pod} master cni0`,
        `link set to-${pod} type bridge_slave hairpin on`,
        `link set to-${pod} up`,
      ]),
      'link set cni0 up',
      ...FAMILIES.map(
        family => `address add ${GATEWAYS[node][family]}/${SIZE[family].subnet} dev cni0${nodad(family)}`,
      ),
      ...pods.flatMap(pod => known(pod, 'cni0')),
    ];
  }

  #set(host: Host, settings: readonly (readonly [string, string])[]): void {
    inNamespace(this.path(host), () => {
      for (const [key, value] of settings)
        if (existsSync(`/proc/sys/net/${key}`)) writeFileSync(`/proc/sys/net/${key}`, value);
    });
  }
}

const SWITCH = [
  'link add lan type bridge mcast_snooping 0',
  ...['n1', 'n2', 'outside'].flatMap(port => [`link set ${port} master lan`, `link set ${port} up`]),
  'link set lan up',
];

function outside(): string[] {
  return [
    'link set lo up',
    'link set eth0 up',
    ...FAMILIES.flatMap(family => [
      `address add ${ADDRESSES.outside[family]}/${SIZE[family].subnet} dev eth0${nodad(family)}`,
      ...NODES.flatMap(node => [
        neighbour(ADDRESSES[node][family], hardwareAddress(node), 'eth0'),
        `route add ${OVERLAY[node][family]}/${SIZE[family].subnet} via ${ADDRESSES[node][family]}`,
      ]),
    ]),
  ];
}

/** As Flannel makes them with its backend for VXLAN. */
function nodeLinks(node: NodeName): string[] {
  const other = node === 'n1' ? 'n2' : 'n1';
  return [
    'link set lo up',
    'link set eth0 up',
    ...FAMILIES.flatMap(family => {
      const device = family === 'ip' ? 'flannel.1' : 'flannel-v6.1';
      const { subnet, host } = SIZE[family];
      return [
        `address add ${ADDRESSES[node][family]}/${subnet} dev eth0${nodad(family)}`,
        ...(node === 'n2' ? [`address add ${SECONDARY[family]}/${subnet} dev eth0${nodad(family)}`] : []),
        neighbour(ADDRESSES.outside[family], hardwareAddress('outside'), 'eth0'),
        neighbour(ADDRESSES[other][family], hardwareAddress(other), 'eth0'),
        `route add default via ${ADDRESSES.outside[family]}`,
        `link add ${device} address ${overlayHardware(node, family)} type vxlan id 1 local ${ADDRESSES[node][family]} dev eth0 dstport 8472 nolearning`,
        `link set ${device} up`,
        `address add ${OVERLAY[node][family]}/${host} dev ${device}${nodad(family)}`,
        `route add ${OVERLAY[other][family]}/${subnet} via ${OVERLAY[other][family]} dev ${device} onlink`,
        neighbour(OVERLAY[other][family], overlayHardware(other, family), device),
      ];
    }),
  ];
}

/** Which node is behind the hardware address of the other end. */
function forwarding(node: NodeName, family: Family): string[] {
  const other = node === 'n1' ? 'n2' : 'n1';
  const device = family === 'ip' ? 'flannel.1' : 'flannel-v6.1';
  const entry = [overlayHardware(other, family), 'dev', device, 'dst', ADDRESSES[other][family]];
  return ['fdb', 'append', ...entry];
}

/** Other networks' tunnels, as far as the kernel has them: what comes from anybody is unwrapped. */
const OTHER_TUNNELS = [
  'link add ipip1 type ipip local any remote any',
  'link add sit1 type sit local any remote any',
  'link add gre1 type gre local any remote any',
  'link add geneve1 type geneve id 1 remote 172.18.0.12',
  'link set ipip1 up',
  'link set sit1 up',
  'link set gre1 up',
  'link set geneve1 up',
  'fou add port 5555 ipproto 4',
  'fou add port 6080 gue',
];

function podEnd(pod: PodName, wiring: Wiring): string[] {
  const node = nodeOf(pod);
  const beside = POD_NAMES.filter(each => each !== pod && wiring === 'bridge' && nodeOf(each) === node);
  return [
    'link set lo up',
    'link set eth0 up',
    ...FAMILIES.flatMap(family => [
      `address add ${ADDRESSES[pod][family]}/${SIZE[family][wiring === 'bridge' ? 'subnet' : 'host']} dev eth0${nodad(family)}`,
      ...(wiring === 'ptp' ? [`route add ${GATEWAYS[node][family]} dev eth0`] : []),
      neighbour(GATEWAYS[node][family], gatewayHardware(pod, wiring), 'eth0'),
      ...beside.map(each => neighbour(ADDRESSES[each][family], hardwareAddress(each), 'eth0')),
      `route add default via ${GATEWAYS[node][family]}`,
    ]),
  ];
}

/** Known for good: frames that lie about their sender, or are too many, lose nobody his neighbour. */
function neighbour(at: string, hardware: string, device: string): string {
  return `neigh replace ${at} lladdr ${hardware} nud permanent dev ${device}`;
}

function nodad(family: Family): string {
  return family === 'ip6' ? ' nodad' : '';
}
