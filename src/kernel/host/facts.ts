/** Facts read from the node, or why one could not be read: the two never have the same value. */
import type { Address, Cidr, Family } from '../../model/address.ts';

export type Reading<T> = { readonly value: T } | { readonly unreadable: string };

export interface Bridge {
  readonly name: string;
  readonly addresses: readonly Address[];
  /** Families whose packets over this bridge pass nftables, whatever the global `bridgeCalls` setting is. */
  readonly calls?: readonly Family[];
}

/** What is read of this machine: from files by read.ts, from nf_tables by daemon/serve/view.ts. */
export interface Host {
  readonly forwarding: Readonly<Record<Family, Reading<boolean>>>;
  readonly bridges: Reading<readonly Bridge[]>;
  /** Whether bridged packets pass through nftables; false also where br_netfilter is not loaded. */
  readonly bridgeCalls: Readonly<Record<Family, Reading<boolean>>>;
  readonly conntrack: Reading<{ readonly count: number; readonly max: number }>;
  /** Destinations of all routes, the default route left out. */
  readonly routes: Readonly<Record<Family, Reading<readonly Cidr[]>>>;
  /** Names of the processes that we can see. */
  readonly processes: Reading<readonly string[]>;
  /** `table calico`, `chains KUBE-ROUTER-*`: rules of other enforcers of network policy. */
  readonly foreignRules: Reading<readonly string[]>;
  /** Names of chains of others that health knows. */
  readonly foreignChains: Reading<readonly string[]>;
  /** `lan of table inet router` */
  readonly flowtables: Reading<readonly string[]>;
  /** How many of IPVS. */
  readonly virtualServices: Reading<number>;
  /** Interfaces by which packets to 127.0.0.0/8 are routed. */
  readonly localnet: Reading<readonly string[]>;
  /** Settings by which this node forwards packets along source routes: `net.ipv6.conf.*.seg6_enabled`. */
  readonly sourceRoutes: Reading<readonly string[]>;
}

/** The facts about this node that the cluster has. */
export interface Ours {
  /** Present where neither a Node object nor a pod of the cluster has the name that the agent was given. */
  readonly unknownNode?: { readonly name: string; readonly others: readonly string[] };
  readonly podCidrs: readonly Cidr[];
  readonly podAddresses: readonly Address[];
  /** Names of the pods that run on this node. */
  readonly podNames: readonly string[];
  /** Addresses that pods of several nodes report: `10.0.0.1: shop/db on n1, and not evil/liar on n2`. */
  readonly contested?: readonly string[];
  /** Tunnel addresses that several claim, so that they are no node's (N75): `10.244.2.0 of n2, pod evil/liar on n3`. */
  readonly contestedTunnels?: readonly string[];
  /** Addresses in the status of Nodes that pods have as well: `10.0.0.1: pod shop/db on n1, node n2`. */
  readonly listedByNodes?: readonly string[];
  /** Pods behind no known port of a bridge; absent if ports are not known. */
  readonly withoutPort?: readonly string[];
  /** Veths that are ports of pods' bridges, with an unknown pod behind them; absent if ports are not known. */
  readonly unknownPorts?: readonly string[];
  /** Absent until the routes were read for the first time. */
  readonly podRoutes?: Reading<readonly PodRoute[]>;
  /** Flannel's tunnel interfaces; read together with `podRoutes`. */
  readonly flannelTunnels?: readonly FlannelTunnel[];
  /** Absent where Flannel is not the network of this node. */
  readonly flannel?: FlannelFacts;
  /** Absent where another plugin attaches the pods. */
  readonly attached?: AttachFacts;
  /** The clients that fill the connection tracking table; absent if it has room, because then it is not read. */
  readonly openers?: Reading<Openers>;
}

/** The clients that opened the connections that the kernel tracks. */
export interface Openers {
  /** Pods of this node, those first that opened most. */
  readonly pods: readonly { readonly pod: string; readonly opened: number }[];
  /** Opened by the node itself, or by others elsewhere. */
  readonly others: number;
}

/** An interface by which the node's own routes lead to pods of it. */
export interface PodRoute {
  readonly device: string;
  /** `veth`, `bridge`, …; absent for hardware. */
  readonly kind?: string;
  /** Packets leave the node by it too. */
  readonly isUplink: boolean;
  /** The addresses of these pods. */
  readonly addresses: readonly Address[];
  /** In bytes: the largest of these pods' interfaces, as the node sees them. */
  readonly mtu: number;
}

export interface FlannelTunnel {
  /** `flannel.1` */
  readonly name: string;
  /** In bytes, without what the tunnel adds. */
  readonly mtu: number;
}

/** What the Node objects say of Flannel. */
export interface FlannelFacts {
  /** The pod networks of the other nodes on which flanneld has run. */
  readonly networks: readonly { readonly node: string; readonly cidr: Cidr }[];
  /** Pod networks that several nodes have, with the names of these nodes, this one among them. */
  readonly shared: readonly { readonly nodes: readonly string[]; readonly cidr: Cidr }[];
}

/** Reasons why pods cannot be attached. */
interface AttachFacts {
  /** Why no further pod gets an address; absent while one does. */
  readonly refuses?: string;
  /** Pod networks of other nodes to which no route of ours leads: `10.0.2.0/24 of node two`. */
  readonly unreachable: readonly string[];
}
