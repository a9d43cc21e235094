/**
 * The commands for iproute2 that make a topology. Pure: text in, text out.
 *
 * Every link is a veth pair that is routed and not bridged, like the ptp plugin's: the upper end is fe80::1, the
 * lower end fe80::2, and these are the next hops of both families (IPv4 goes `via inet6`). So no link needs an
 * address plan, and addresses may be anything.
 */
import { type Address, addressBits, familyOf } from '../../src/model/address.ts';
import type { LabHost, PodHost, Topology } from './topology.ts';

export interface Wiring {
  /** Network namespaces to make. */
  readonly namespaces: readonly string[];
  /** Commands that make all links, from anywhere. */
  readonly links: readonly string[];
  /** Both interfaces of every link. */
  readonly ends: readonly LinkEnd[];
  /** Commands to run inside each namespace. */
  readonly inside: ReadonlyMap<string, readonly string[]>;
  /** Namespaces that forward packets. */
  readonly routers: readonly string[];
}

export interface LinkEnd {
  readonly namespace: string;
  readonly port: string;
  /** The address of the other end. */
  readonly peer: Address;
}

export interface NamespaceNames {
  node(name: string): string;
  pod(key: string): string;
  readonly outside: string;
}

/** `sluice-demo.worker-1`, `sluice-demo.shop.web-0`, `sluice-demo.outside`. */
export function namespaceNames(prefix: string): NamespaceNames {
  return {
    node: name => `${prefix}.${name}`,
    pod: key => `${prefix}.${key.replace('/', '.')}`,
    outside: `${prefix}.outside`,
  };
}

export function wiringOf(topology: Topology, names: NamespaceNames): Wiring {
  const links = [...nodeLinks(topology, names), ...podLinks(topology, names)];
  const inside = new Map<string, string[]>([[names.outside, hostAddresses(topology.outside, 'lo')]]);
  for (const link of links) {
    append(inside, link.upper, upperEnd(link));
    append(inside, link.lower, lowerEnd(link));
  }
  return {
    namespaces: [names.outside, ...links.map(link => link.lower)],
    links: links.map(
      ({ upper, upperPort, lower }) =>
        `link add ${UPLINK} netns ${lower} type veth peer name ${upperPort} netns ${upper}`,
    ),
    ends: links.flatMap(({ upper, upperPort, lower }) => [
      { namespace: upper, port: upperPort, peer: LOWER },
      { namespace: lower, port: UPLINK, peer: UPPER },
    ]),
    inside: new Map([...inside].map(([name, commands]) => [name, ['link set lo up', ...commands]])),
    routers: [names.outside, ...topology.nodes.map(node => names.node(node.name))],
  };
}

const UPLINK = 'eth0';
const UPPER = 'fe80::1' as Address;
const LOWER = 'fe80::2' as Address;

interface Link {
  readonly upper: string;
  readonly upperPort: string;
  readonly lower: string;
  /** The lower end's own. */
  readonly addresses: readonly Address[];
  /** All addresses that are reached over this link. */
  readonly reaches: readonly Address[];
}

function nodeLinks({ nodes, pods }: Topology, names: NamespaceNames): Link[] {
  return nodes.map((node, index) => ({
    upper: names.outside,
    upperPort: portName(index, node),
    lower: names.node(node.name),
    addresses: node.addresses,
    reaches: [node, ...pods.filter(pod => pod.node === node.name)].flatMap(host => host.addresses),
  }));
}

function podLinks({ pods }: Topology, names: NamespaceNames): Link[] {
  return pods.map((pod: PodHost, index) => ({
    upper: names.node(pod.node),
    upperPort: portName(index, pod),
    lower: names.pod(pod.name),
    addresses: pod.addresses,
    reaches: pod.addresses,
  }));
}

// An interface name has at most 15 characters and no slash; the number keeps shortened names apart.
function portName(index: number, { name }: LabHost): string {
  return `${index}-${name.replace('/', '-')}`.slice(0, 15);
}

function upperEnd({ upperPort, reaches }: Link): string[] {
  return [
    ...linkUp(upperPort, UPPER),
    ...reaches.map(address => `route add ${hostRoute(address)} ${via(address, LOWER)} dev ${upperPort}`),
  ];
}

function lowerEnd({ addresses }: Link): string[] {
  return [
    ...linkUp(UPLINK, LOWER),
    ...hostAddresses(addresses, UPLINK),
    `route add 0.0.0.0/0 via inet6 ${UPPER} dev ${UPLINK}`,
    `route add ::/0 via ${UPPER} dev ${UPLINK}`,
  ];
}

function linkUp(port: string, linkLocal: string): string[] {
  return [
    // Without an address of the kernel's own there is nothing that duplicate address detection could hold up.
    `link set ${port} addrgenmode none`,
    `link set ${port} up`,
    `address add ${linkLocal}/64 dev ${port} nodad`,
  ];
}

export function hostAddresses(addresses: readonly Address[], port: string): string[] {
  return addresses.map(
    address => `address add ${hostRoute(address)} dev ${port}${familyOf(address) === 'ip6' ? ' nodad' : ''}`,
  );
}

function hostRoute(address: Address): string {
  return `${address}/${addressBits(familyOf(address))}`;
}

function via(address: Address, hop: string): string {
  return familyOf(address) === 'ip' ? `via inet6 ${hop}` : `via ${hop}`;
}

function append(map: Map<string, string[]>, key: string, values: readonly string[]): void {
  map.set(key, [...(map.get(key) ?? []), ...values]);
}
